#!/usr/bin/perl
# Mounts a hand's disk where a Docker Engine sees it, for as long as it takes to start a container that is
# shown its folders: the container keeps them, and with them the mount, until it ends. As root.
#
#   engine-disk.pl --engine SOCKET --stage DIR [--disk IMAGE --template FILE --uid N [--folder NAME]...]
#
# Goes into the mount namespace of the engine and unmounts what an earlier one has left at DIR. Without
# --disk that is all, in this process's own namespace if no engine answers. With it, mounts IMAGE at DIR
# (disk.pl), writes a line, waits for the end of its input and unmounts: so a caller that is killed leaves
# nothing.
use strict;
use warnings;
use Config;
use Errno;
use Fcntl qw(O_RDONLY O_DIRECTORY O_NOFOLLOW);
use Socket qw(PF_UNIX SOCK_STREAM SOL_SOCKET SO_PEERCRED pack_sockaddr_un);

use constant { CLONE_NEWNS => 0x20000, MNT_DETACH => 2, UMOUNT_NOFOLLOW => 8 };

my %SYS =
    $Config{archname} =~ /^x86_64/  ? (mount => 165, umount2 => 166, setns => 308, fdatasync => 75)
  : $Config{archname} =~ /^aarch64/ ? (mount => 40, umount2 => 39, setns => 268, fdatasync => 83)
  :                                   fail("the processor $Config{archname} is not supported");

my $staged;

sub fail {
  my ($message) = @_;
  clear($staged) if defined $staged;
  syswrite STDERR, "drover-disk: $message\n";
  exit 1;
}

# Undefined if nobody listens. With systemd's socket activation it is systemd, whose mounts the engine shares.
sub engine_pid {
  my ($path) = @_;
  socket my $socket, PF_UNIX, SOCK_STREAM, 0 or fail("socket: $!");
  connect $socket, pack_sockaddr_un($path) or return;
  my $peer = getsockopt $socket, SOL_SOCKET, SO_PEERCRED or fail("the process of the engine: $!");
  return unpack 'l', $peer;
}

# Checks that the folder is the same one there.
sub enter_mounts {
  my ($pid, $folder) = @_;
  my $here = identity($folder) // fail("stat $folder: $!");
  my $namespace;
  $pid > 0 && open $namespace, '<', "/proc/$pid/ns/mnt"
    or fail('the Docker Engine is no process of this machine that can be seen here');
  syscall($SYS{setns}, fileno $namespace, CLONE_NEWNS) == 0 or fail("setns: $!");
  (identity($folder) // '') eq $here or fail('the Docker Engine does not see the data folder');
}

sub identity {
  my @stat = stat $_[0] or return;
  return "$stat[0]:$stat[1]";
}

sub clear {
  my ($stage) = @_;
  1 while syscall($SYS{umount2}, "$stage", MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
  return $!{EINVAL} || $!{ENOENT};
}

my (%option, @folders);
while (@ARGV) {
  my ($name, $value) = splice @ARGV, 0, 2;
  $name =~ /^--(engine|stage|disk|template|uid|folder)$/ && defined $value or fail("bad argument $name");
  if ($1 eq 'folder') { push @folders, $value }
  else                { $option{$1} = $value }
}
my ($engine, $stage) = @option{qw(engine stage)};
my ($hand) = ($stage // '') =~ m{^(/.+)/[^/]+$} or fail('no stage');
my ($directory) = $0 =~ m{^(/.*)/[^/]+$} or fail("$0 is not an absolute path");
require "$directory/disk.pl";
# Whoever stops the caller lets it tidy up; what the caller leaves undone is done here.
$SIG{$_} = 'IGNORE' for qw(HUP INT TERM PIPE);
umask 022;

my $pid = engine_pid($engine);
defined $pid || !defined $option{disk} or fail("the Docker Engine does not answer at $engine: $!");
enter_mounts($pid, $hand) if defined $pid;
clear($stage) or fail("unmount $stage: $!");
exit 0 unless defined $option{disk};

($option{uid} // '') =~ /^\d+$/ && $option{uid} >= 1000 or fail('no uid for a sandbox');
$staged = $stage;
DroverDisk::show_disk(
  image => $option{disk}, template => $option{template} // fail('no template'), target => $stage,
  folders => \@folders, uid => $option{uid} + 0, syscalls => \%SYS, fail => \&fail,
);
# To unmount this very one: a later process may have cleared the place and mounted its own there.
sysopen my $mounted, $stage, O_RDONLY | O_DIRECTORY | O_NOFOLLOW or fail("open $stage: $!");
undef $staged;
syswrite STDOUT, "mounted\n";
1 while sysread STDIN, my $ignored, 4096;
my $own = '/proc/self/fd/' . fileno $mounted;
syscall($SYS{umount2}, "$own", MNT_DETACH) == 0 or $!{EINVAL} or fail("unmount $stage: $!");
