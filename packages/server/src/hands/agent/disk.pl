# Shows a sandbox a file system of its own, which is a file on the host: what it can keep is what fits.
# Speaks to the kernel by itself, so that no program has to be found and nothing is forked.
#
# The file system is mounted in the mount namespace of this process only. With its last process the mount
# goes, and with the mount the loop device, however they end: nothing of it is ever in the host's table.
package DroverDisk;
use strict;
use warnings;
use Errno qw(EBUSY EWOULDBLOCK);
use Fcntl qw(:DEFAULT :flock);

# Of sysseek, which Fcntl does not name.
use constant { SEEK_DATA => 3, SEEK_HOLE => 4 };
# What a superblock says of its file system: it was found to be wrong while it was in use.
use constant { STATE_AT => 1024 + 58, HAS_ERRORS => 2 };
use constant {
  LOOP_CTL_GET_FREE => 0x4c82, LOOP_CONFIGURE => 0x4c0a, AUTOCLEAR => 4, DIRECT_IO => 16,
  BLOCK_BYTES => 4096, MS_NOSUID => 2, MS_NODEV => 4, PATIENCE_S => 10, PAUSE_S => 0.005,
  ATTEMPTS => 100, REPAIRED_MAX => 1, COPY_BYTES => 1 << 20,
};

my ($syscalls, $fail);

# Mounts the file system in the file {image} at {target}, and gives the {folders} in it to the user {uid}.
# An image that is empty becomes a copy of {template} first. {syscalls} has the numbers of `mount` and
# `fdatasync`; {fail} is called with a sentence and does not return.
sub show_disk {
  my %disk = @_;
  ($syscalls, $fail) = @disk{qw(syscalls fail)};
  fill($disk{image}, $disk{template}) if -z $disk{image};
  my $file = claim($disk{image});
  my ($device, $path) = attach($file);
  repair($path) if has_errors($file);
  if (!mount_ext4($path, $disk{target})) {
    repair($path);
    mount_ext4($path, $disk{target}) or $fail->("mount: $!");
  }
  give("$disk{target}/$_", $disk{uid}) for @{$disk{folders}};
}

# Beside its place, and on disk before it is put there: a machine that stops leaves an empty one or a whole one.
sub fill {
  my ($image, $template) = @_;
  my $draft = "$image.new";
  sysopen my $from, $template, O_RDONLY or $fail->("open $template: $!");
  sysopen my $to, $draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600 or $fail->("open $draft: $!");
  truncate $to, -s $from or $fail->("write $draft: $!");
  my $end = 0;
  while (defined(my $start = sysseek $from, $end, SEEK_DATA)) {
    $end = sysseek $from, $start, SEEK_HOLE or $fail->("read $template: $!");
    copy($from, $to, $start + 0, $end + 0);
  }
  syscall($syscalls->{fdatasync}, fileno $to) == 0 or $fail->("write $draft: $!");
  rename $draft, $image or $fail->("rename $draft: $!");
}

sub copy {
  my ($from, $to, $at, $end) = @_;
  defined sysseek $_, $at, 0 or $fail->("seek: $!") for $from, $to;
  while ($at < $end) {
    my $wanted = $end - $at < COPY_BYTES ? $end - $at : COPY_BYTES;
    my $length = sysread $from, my $piece, $wanted or $fail->('the template is cut');
    (syswrite($to, $piece) // 0) == $length or $fail->("no room for the disk of a sandbox: $!");
    $at += $length;
  }
}

sub mount_ext4 {
  my ($path, $target) = @_;
  my $type = 'ext4';
  # Freed blocks are given back to the host. Inode tables are zero already, as the image is sparse.
  my $options = 'discard,noinit_itable,errors=remount-ro';
  return syscall($syscalls->{mount}, "$path", "$target", $type, MS_NOSUID | MS_NODEV, $options) == 0;
}

sub has_errors {
  my ($file) = @_;
  sysseek $file, STATE_AT, 0;
  sysread $file, my $state, 2 or $fail->("read: $!");
  return unpack('v', $state) & HAS_ERRORS;
}

# After writes that the host refused, for want of room or for a broken disk. What it says goes to where
# the errors of this process go.
sub repair {
  my ($path) = @_;
  my ($program) = grep { -x } '/usr/sbin/e2fsck', '/sbin/e2fsck' or $fail->('e2fsck is not installed');
  my $child = fork // $fail->("fork: $!");
  if (!$child) {
    open STDIN, '<', '/dev/null';
    open STDOUT, '>&', \*STDERR;
    exec {$program} $program, '-f', '-y', $path;
    exit 127;
  }
  waitpid $child, 0;
  my $status = $? & 127 ? 128 : $? >> 8;
  $status <= REPAIRED_MAX or $fail->("the file system cannot be repaired: e2fsck status $status");
}

# The loop device keeps this very opening of the file until it lets go of it, and with that the lock. So
# no image is mounted twice, which would destroy it: an earlier sandbox's may be in use a moment longer
# than its processes are.
sub claim {
  my ($image) = @_;
  sysopen my $file, $image, O_RDWR | O_NOFOLLOW or $fail->("open $image: $!");
  my $tries = PATIENCE_S / PAUSE_S;
  until (flock $file, LOCK_EX | LOCK_NB) {
    $! == EWOULDBLOCK or $fail->("lock $image: $!");
    $tries-- > 0 or $fail->('in use: the earlier sandbox has not let go of it');
    select undef, undef, undef, PAUSE_S;
  }
  return $file;
}

# Another process may be faster to take the device that the kernel says is free.
sub attach {
  my ($file) = @_;
  sysopen my $control, '/dev/loop-control', O_RDWR or $fail->("no loop devices: $!");
  # Of `struct loop_info64` only the flags are set. Without the host's page cache in between, what is
  # read and written is kept in memory once only, and on the sandbox's own account.
  my $info = pack 'x52 L x176', AUTOCLEAR | DIRECT_IO;
  my $config = pack('LL', fileno $file, BLOCK_BYTES) . $info . pack 'x64';
  for (1 .. ATTEMPTS) {
    my $number = ioctl $control, LOOP_CTL_GET_FREE, 0;
    defined $number or $fail->("no loop device is free: $!");
    my $path = '/dev/loop' . ($number + 0);
    sysopen my $device, $path, O_RDWR or $fail->("open $path: $!");
    return ($device, $path) if ioctl $device, LOOP_CONFIGURE, $config;
    $! == EBUSY or $fail->("attach $path: $!");
  }
  $fail->('no loop device could be had');
}

# Only when new or not given yet: a sandbox may have changed the permissions of its own folders. But for
# itself it must be able to use them, or no later one would begin.
sub give {
  my ($folder, $uid) = @_;
  mkdir $folder, 0755 or -d $folder or $fail->("mkdir $folder: $!");
  my ($mode, $owner) = (lstat $folder)[ 2, 4 ];
  if ($owner == $uid) {
    chmod $mode & 07777 | 0700, $folder if ($mode & 0700) != 0700;
    return;
  }
  chmod 0755, $folder;
  chown $uid, $uid, $folder or $fail->("chown $folder: $!");
}

1;
