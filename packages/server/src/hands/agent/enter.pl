#!/usr/bin/perl
# Goes into the network of a container that runs and opens its only way out (exit.pl), as root.
#
#   enter.pl --pid PID --start TICKS --exit FD
#
# PID is the container's first process and TICKS its start time, so that no other is taken for it; FD is
# Node's channel to this process. Refuses a network that is the host's, or that leads anywhere by itself.
use strict;
use warnings;
use Config;

use constant CLONE_NEWNET => 0x40000000;

my $SETNS =
    $Config{archname} =~ /^x86_64/  ? 308
  : $Config{archname} =~ /^aarch64/ ? 268
  :                                   fail("the processor $Config{archname} is not supported");

sub fail { syswrite STDERR, "drover-enter: $_[0]\n"; exit 1 }

sub slurp {
  my ($path) = @_;
  open my $file, '<', $path or fail("open $path: $!");
  local $/;
  return scalar <$file>;
}

# A kernel without IPv6 has not the first.
sub set {
  my ($name, $value) = @_;
  open my $file, '>', "/proc/sys/$name" or return $!{ENOENT} || fail("open $name: $!");
  defined syswrite $file, $value or fail("write $name: $!");
}

my %option = @ARGV;
my ($pid, $start, $channel) = @option{qw(--pid --start --exit)};
for ($pid, $start, $channel) { defined && /^\d+$/ or fail('bad arguments') }
my ($directory) = $0 =~ m{^(/.*)/[^/]+$} or fail("$0 is not an absolute path");

open my $network, '<', "/proc/$pid/ns/net" or fail("the network of process $pid: $!");
# What was opened stays what it is: from here on the process may end.
my @fields = split ' ', slurp("/proc/$pid/stat") =~ s/.*\) //sr;
$fields[19] eq $start or fail("process $pid is another one");
my $own = readlink '/proc/self/ns/net';
my $theirs = readlink "/proc/self/fd/@{[fileno $network]}";
defined $own && defined $theirs && $own ne $theirs or fail('the container has the network of the host');
syscall($SETNS, fileno $network, CLONE_NEWNET) == 0 or fail("setns: $!");
for my $line (grep { /:/ } split /\n/, slurp('/proc/self/net/dev')) {
  my ($name) = $line =~ /^\s*([^:]+):/;
  $name eq 'lo' or fail("the container has a network of its own: $name");
}
# As the kernel makes a network; engines change both: IPv6 is to lead into the way out as well, and nobody is
# to have sockets for `ping`.
set("net/ipv6/conf/$_/disable_ipv6", '0') for qw(all lo);
set('net/ipv4/ping_group_range', '1 0');
require "$directory/exit.pl";
DroverExit::open_exit_here($channel, \&fail);
