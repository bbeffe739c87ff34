#!/usr/bin/perl
# Becomes bubblewrap: prepares this process on the host, then execs.
#
#   launch.pl --parent PID [--group DIR]... [--exit FD]
#     [--uid N --stage DIR --cover DIR [--bind NAME=PATH]... [--disk IMAGE --template FILE [--folder NAME]...]]
#     -- BWRAP ARG...
#
# Open on arrival: 0-2 (the agent's stdio), 3 (seccomp filter), 4 (bwrap arguments), 5 (bwrap status).
# With --group: goes into that control group before anything else, and so does all that it becomes and starts.
# With --exit: this process gets a network of its own, whose only way out is served by the parent; FD is
# Node's channel to it, which is closed before anything else is run (exit.pl).
# With --uid (as root): binds each PATH to COVER/NAME in a private mount namespace, so that folders
# below an untraversable one can be shown, and gives up root for good. With --disk, the folders NAME of the
# file system in the file IMAGE are there too, at COVER/disk/NAME (disk.pl).
# bwrap run by kernel uid 0 would be an escape (readable /etc/shadow, writable core_pattern), whatever uid
# the inside believes in.
use strict;
use warnings;
use Config;

use constant {
  MS_BIND => 4096, MS_MOVE => 8192, MS_REC => 16384, MS_PRIVATE => 1 << 18,
  CLONE_NEWNS => 0x20000, MNT_DETACH => 2, UMOUNT_NOFOLLOW => 8, PR_SET_PDEATHSIG => 1, PR_SET_NO_NEW_PRIVS => 38, FIRST_UNUSED_FD => 6,
};

my %SYS =
  $Config{archname} =~ /^x86_64/
  ? (prctl => 157, mount => 165, umount2 => 166, unshare => 272, setgroups => 116, setresgid => 119, setresuid => 117,
    fdatasync => 75)
  : $Config{archname} =~ /^aarch64/
  ? (prctl => 167, mount => 40, umount2 => 39, unshare => 97, setgroups => 159, setresgid => 149, setresuid => 147,
    fdatasync => 83)
  : fail("the processor $Config{archname} is not supported");
my $CLOSE_RANGE = 436;

sub fail { syswrite STDERR, "drover-launch: $_[0]\n"; exit 1 }

sub sys {
  my ($name, @args) = @_;
  my $result = syscall($SYS{$name}, @args);
  fail("$name: $!") if $result == -1;
}

sub mount_at {
  my ($source, $target, $type, $flags, $data) = @_;
  syscall($SYS{mount}, "$source", "$target", "$type", $flags, "$data") == 0
    or fail("mount $source on $target: $!");
}

# Node marks only its own descriptors close-on-exec; what it inherited would be open in the sandbox.
sub close_inherited {
  my ($first) = @_;
  return if syscall($CLOSE_RANGE, $first, 0xffffffff, 0) == 0;
  opendir my $dir, '/proc/self/fd' or fail("list descriptors: $!");
  for my $fd (grep { /^\d+$/ && $_ >= $first } readdir $dir) {
    open my $handle, '<&=', $fd or next;
    close $handle;
  }
}

# The number 0 stands for whoever writes it.
sub enter {
  my ($group) = @_;
  open my $file, '>', "$group/cgroup.procs" or fail("enter $group: $!");
  defined syswrite $file, '0' or fail("enter $group: $!");
  close $file;
}

# The disk of a container's hand is among the host's mounts while the container is started (engine-disk.pl).
# A copy of that moment, which this process's mounts are, would keep it in use for as long as they are.
sub let_go_of_disks {
  open my $mounts, '<', '/proc/self/mountinfo' or fail("list mounts: $!");
  for my $line (<$mounts>) {
    my ($target, $source) = $line =~ /^(?:\S+ ){4}(\S+) .*? - \S+ (\S+)/ or next;
    $target =~ s/\\([0-7]{3})/chr oct $1/ge;
    next unless $source =~ m{^/dev/loop\d+$}
      && $target =~ m{/(?:hands/[^/]+/stage|sandbox-base/[^/]+/disk-trial)$};
    sys('umount2', $target, MNT_DETACH | UMOUNT_NOFOLLOW);
  }
}

sub stage {
  my ($stage, $cover, $show_disk, @binds) = @_;
  sys('unshare', CLONE_NEWNS);
  mount_at('none', '/', '', MS_REC | MS_PRIVATE, '');
  let_go_of_disks();
  mount_at('tmpfs', $stage, 'tmpfs', 0, 'mode=755,size=1m');
  for my $bind (@binds) {
    my ($name, $path) = split /=/, $bind, 2;
    mkdir "$stage/$name", 0755 or fail("mkdir $stage/$name: $!");
    mount_at($path, "$stage/$name", '', MS_BIND, '');
  }
  if ($show_disk) {
    mkdir "$stage/disk", 0755 or fail("mkdir $stage/disk: $!");
    $show_disk->("$stage/disk");
  }
  # Covering comes last: the folders shown may themselves be below it.
  mount_at($stage, $cover, '', MS_MOVE, '');
}

sub become {
  my ($uid) = @_;
  sys('setgroups', 0, 0);
  sys('setresgid', $uid, $uid, $uid);
  sys('setresuid', $uid, $uid, $uid);
}

my (%option, @binds, @groups, @folders);
while (@ARGV) {
  my $name = shift @ARGV;
  last if $name eq '--';
  my $value = shift @ARGV;
  $name =~ /^--(parent|group|exit|uid|stage|cover|bind|disk|template|folder)$/ && defined $value
    or fail("bad argument $name");
  if    ($1 eq 'bind')   { push @binds,   $value }
  elsif ($1 eq 'group')  { push @groups,  $value }
  elsif ($1 eq 'folder') { push @folders, $value }
  else                   { $option{$1} = $value }
}
fail('no program to run') unless @ARGV && $option{parent};

my ($directory) = $0 =~ m{^(/.*)/[^/]+$} or fail("$0 is not an absolute path");
chdir '/' or fail("chdir: $!");
enter($_) for @groups;
umask 022;
if (defined $option{exit}) {
  $option{exit} eq FIRST_UNUSED_FD or fail("the channel must be descriptor @{[FIRST_UNUSED_FD]}");
  close_inherited(FIRST_UNUSED_FD + 1);
  require "$directory/exit.pl";
  DroverExit::open_exit($SYS{unshare}, $option{exit}, $> == 0, \&fail);
}
close_inherited(FIRST_UNUSED_FD);
delete @ENV{grep { /^NODE_CHANNEL_/ } keys %ENV};
# Where memory runs out, the kernel is to end a sandbox before a server.
if (open my $score, '>', '/proc/self/oom_score_adj') { syswrite $score, '500'; close $score }
if (defined $option{uid}) {
  $option{uid} =~ /^\d+$/ && $option{uid} >= 1000 or fail("uid $option{uid} is not one for a sandbox");
  # A number, not digits: syscall() would pass the address of a string.
  my $uid = $option{uid} + 0;
  my $show_disk;
  if (defined $option{disk}) {
    require "$directory/disk.pl";
    $show_disk = sub {
      DroverDisk::show_disk(
        image => $option{disk}, template => $option{template} // fail('no template'),
        target => $_[0], folders => \@folders, uid => $uid,
        syscalls => \%SYS, fail => sub { fail("disk: $_[0]") },
      );
    };
  }
  stage($option{stage}, $option{cover}, $show_disk, @binds) if defined $option{stage};
  become($uid);
}
fail('refusing to run bubblewrap as root') if $< == 0 || $> == 0;
sys('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
# After the change of user, which clears it. A parent that died before this line is noticed by the next.
sys('prctl', PR_SET_PDEATHSIG, 9, 0, 0, 0);
fail('the parent process is gone') unless getppid() == $option{parent};
exec { $ARGV[0] } @ARGV or fail("exec $ARGV[0]: $!");
