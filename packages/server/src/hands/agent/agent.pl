#!/usr/bin/perl
# The agent inside a sandbox: does what the host asks over stdin and stdout. perl-base only.
#
#   agent.pl NPROC NOFILE FSIZE [ID]     (resource limits for itself and everything it starts, NPROC 0 for
#                                         none; the host finds its processes by ID)
#
# Frame: uint32 length of the rest, uint32 request id, one letter, fields as (uint32 length, bytes)*.
# From the host:                                      Answer fields:
#   E command spill_path spill_after spill_max        end code total omitted spilled free_bytes free_files
#   K                                                 (kills all that is not the agent)
#   X output_max argument...                          end code stderr
#   C request_id                                      (ends that X)
#   R path offset limit                               size bytes
#   W token path chunk last [version]                 (last=1 puts the file in place)
#   U path version root                               (deletes it, and empty folders above it)
#   S path                                            type size mtime_ms version
#   L path limit                                      (path type size mtime_ms version)*
#   D path                                            free_bytes free_files (of the file system it is in)
# To the host: h hello, o output bytes, r result, e error (code, message).
# With a version, a file that has another one by then (or is there, for an empty version) answers ESTALE.
# `end` is exit, signal, killed (by K or C), full (more output than asked for) or lost (E only: the shell
# has ended since the command before, so this one was not run; the next gets a new shell).
use strict;
use warnings;
use Config;
use Fcntl qw(:DEFAULT :mode);

use constant {
  FRAME_MAX => 1 << 21, OUT_HIGH => 1 << 19, CHUNK => 1 << 16, READ_MAX => 1 << 18,
  FORWARD_MAX => 4 << 20, TAIL_KEEP => 1 << 18, CARRY_KEEP => 1 << 14, ERROR_KEEP => 1 << 13,
  LIST_BYTES_MAX => 3 << 19, LIST_VISIT_MAX => 50_000, RUNS_MAX => 16, WRITES_MAX => 16,
  SPILLS_KEEP => 16, STATUS_FD => 60, OUTPUT_FD => 61, POLL_S => 0.025, KILL_TRIES => 1000,
  STATE_DIR => '/mnt/session/.spill', KEPT_DIR => '/workspace',
  # For the shell: where memory runs out, the kernel is to end what it started before it ends the agent.
  FIRST_TO_END => "{ builtin printf 1000 >/proc/self/oom_score_adj; } 2>/dev/null\n",
};

my %SYS =
  $Config{archname} =~ /^x86_64/
  ? (prctl => 157, dup3 => 292, setsid => 112, prlimit64 => 302, statx => 332, exit_group => 231,
    statfs => 137)
  : $Config{archname} =~ /^aarch64/
  ? (prctl => 167, dup3 => 24, setsid => 157, prlimit64 => 261, statx => 291, exit_group => 94,
    statfs => 43)
  : die "the processor $Config{archname} is not supported\n";
my $PIDFD_OPEN  = 434;
my $CLOSE_RANGE = 436;
my @IGNORED     = qw(HUP INT QUIT TERM PIPE USR1 USR2 ALRM XFSZ XCPU TSTP TTIN TTOU);
my @ENV_SIGNALS = (@IGNORED, 'CHLD');

my %ERRNO = (
  1 => 'EPERM', 2 => 'ENOENT', 5 => 'EIO', 6 => 'ENXIO', 7 => 'E2BIG', 11 => 'EAGAIN', 12 => 'ENOMEM',
  13 => 'EACCES', 16 => 'EBUSY', 17 => 'EEXIST', 18 => 'EXDEV', 20 => 'ENOTDIR', 21 => 'EISDIR',
  22 => 'EINVAL', 23 => 'ENFILE', 24 => 'EMFILE', 26 => 'ETXTBSY', 27 => 'EFBIG', 28 => 'ENOSPC',
  30 => 'EROFS', 36 => 'ENAMETOOLONG', 39 => 'ENOTEMPTY', 40 => 'ELOOP', 122 => 'EDQUOT',
);

my ($in, $out) = ('', '');
my ($shell, $exec);    # the persistent bash; the command that runs in it
my ($lost, $resting);  # it ended between two commands; its output is not read for a moment
my (%runs, %writes);
my $write_count = 0;

# Without this, code in the sandbox can attach to the agent and answer in its name.
syscall($SYS{prctl}, 4, 0, 0, 0, 0) == 0 or die "prctl: $!\n";
# `K` kills every process it may signal: only ever inside a sandbox's own pid namespace. In bubblewrap's
# there is a first process that reaps and this is the second; in a container this is the first, and becomes
# the child of one that reaps.
die "the agent runs only inside a sandbox\n" unless $$ == 1 ? be_first() : $$ == 2 && getppid() == 1;
syscall($CLOSE_RANGE, 3, 0xffffffff, 0);
limit(4, 0);
limit(1, $ARGV[2]);
limit(6, $ARGV[0]) if $ARGV[0];
limit(7, $ARGV[1]);
$SIG{$_} = 'IGNORE' for @IGNORED;
umask 022;
unblock(\*STDIN);
unblock(\*STDOUT);
remove_half_written();
start_shell();
send_frame(0, 'h', 1);
main_loop();

# Returns, with 1, in the child alone. Reaps whatever loses its parent; ends with the agent, and the kernel ends the
# rest with it.
sub be_first {
  my $agent = fork;
  die "fork: $!\n" unless defined $agent;
  return 1 if $agent == 0;
  # Only the agent's end of the streams is to count.
  open STDIN,  '<', '/dev/null' or die "/dev/null: $!\n";
  open STDOUT, '>', '/dev/null' or die "/dev/null: $!\n";
  while (1) {
    my $pid = wait;
    next unless $pid == $agent || ($pid == -1 && $!{ECHILD});
    syscall($SYS{exit_group}, $? & 127 ? 128 + ($? & 127) : $? >> 8);
  }
}

sub limit {
  my ($resource, $value) = @_;
  my $limits = pack 'QQ', $value, $value;
  syscall($SYS{prlimit64}, 0, $resource, $limits, 0) == 0 or die "limit $resource: $!\n";
}

sub unblock {
  my ($handle) = @_;
  fcntl $handle, F_SETFL, fcntl($handle, F_GETFL, 0) | O_NONBLOCK or die "fcntl: $!\n";
}

# ---- loop ------------------------------------------------------------------------------------

sub main_loop {
  while (1) {
    my ($read, $write, $poll) = ('', '', 0);
    # No reading of what would have to be kept: a full queue stops the host and all producers.
    1 while length($out) < OUT_HIGH && handle_next();
    my $room = length($out) < OUT_HIGH;
    vec($read, 0, 1) = 1 if $room;
    vec($write, 1, 1) = 1 if length $out;
    for my $child (grep { defined } $shell, values %runs) {
      if   ($child->{pidfd}) { vec($read, fileno $child->{pidfd}, 1) = 1 }
      else                   { $poll = 1 }
      for my $name (qw(out err)) {
        next if $resting && $shell && $child == $shell;
        vec($read, fileno $child->{$name}, 1) = 1 if $room && $child->{$name};
      }
    }
    $poll = 1 if $resting;
    if ($shell) {
      vec($read,  fileno $shell->{status}, 1) = 1 if $exec && $shell->{status};
      vec($write, fileno $shell->{in},     1) = 1 if length $shell->{pending};
    }
    my $ready = select $read, $write, undef, $poll ? POLL_S : undef;
    $resting = 0 unless $ready;
    next if $ready < 0;
    write_out()     if vec $write, 1, 1;
    tend_shell($read, $write) if $shell;
    tend_run($_, $read) for keys %runs;
    read_in() if vec $read, 0, 1;
  }
}

sub write_out {
  my $written = syswrite STDOUT, $out, CHUNK;
  if   (defined $written) { substr $out, 0, $written, '' }
  elsif ($!{EAGAIN})      { }
  else                    { leave() }
}

sub read_in {
  my $got = sysread STDIN, $in, CHUNK * 4, length $in;
  return if !defined $got && ($!{EAGAIN} || $!{EINTR});
  # The host is gone. Pid 1 ends with the agent, and the kernel ends the rest with pid 1.
  leave() unless $got;
}

# True if it handled one request that had arrived whole.
sub handle_next {
  return 0 if length $in < 4;
  my $length = unpack 'N', $in;
  leave() if $length < 5 || $length > FRAME_MAX;
  return 0 if length $in < 4 + $length;
  my ($id, $op, $body) = unpack 'x4 N a1 a*', substr $in, 0, 4 + $length, '';
  handle($id, $op, unpack '(N/a*)*', $body);
  return 1;
}

sub leave { syscall($SYS{exit_group}, 0) }

sub send_frame {
  my ($id, $op, @fields) = @_;
  my $body = pack 'N a1 (N/a*)*', $id, $op, @fields;
  $out .= pack('N', length $body) . $body;
}

sub fail {
  my ($id, $code, $message) = @_;
  send_frame($id, 'e', $code, $message);
}

sub fail_errno {
  my ($id, $what) = @_;
  fail($id, $ERRNO{ $! + 0 } // 'E' . ($! + 0), "$what: $!");
}

sub handle {
  my ($id, $op, @fields) = @_;
  if    ($op eq 'E') { start_exec($id, @fields) }
  elsif ($op eq 'K') { kill_all(); send_frame($id, 'r') }
  elsif ($op eq 'X') { start_run($id, @fields) }
  elsif ($op eq 'C') { end_run($fields[0], 'killed'); send_frame($id, 'r') }
  elsif ($op eq 'R') { read_file($id, @fields) }
  elsif ($op eq 'W') { write_file($id, @fields) }
  elsif ($op eq 'U') { remove_file($id, @fields) }
  elsif ($op eq 'S') { stat_file($id, @fields) }
  elsif ($op eq 'L') { list_files($id, @fields) }
  elsif ($op eq 'D') { measure_disk($id, @fields) }
  else               { fail($id, 'EINVAL', "unknown request $op") }
}

# ---- processes -------------------------------------------------------------------------------

# Forks; in the child the given descriptors are put in place, in order, and the program is started.
sub spawn {
  my ($places, $program, @argv) = @_;
  my $pid = fork;
  return unless defined $pid;
  if ($pid == 0) {
    $SIG{$_} = 'DEFAULT' for @ENV_SIGNALS;
    syscall($SYS{setsid});
    while (my ($handle, $fd) = splice @$places, 0, 2) {
      syscall($SYS{dup3}, fileno $handle, $fd, 0) >= 0 or syscall($SYS{exit_group}, 126);
    }
    no warnings 'exec';
    exec { $program } @argv;
    syscall($SYS{exit_group}, 127);
  }
  my $pidfd = syscall($PIDFD_OPEN, $pid, 0);
  my $handle;
  if ($pidfd >= 0) { open $handle, '<&=', $pidfd or $handle = undef }
  return ($pid, $handle);
}

# True once the child has ended; its status is then in `code` and `signal`.
sub reap {
  my ($child) = @_;
  return 1 if $child->{ended};
  my $pid = waitpid $child->{pid}, 1;
  return 0 if $pid == 0;
  @$child{qw(ended code signal)} = (1, $? >> 8, $? & 127);
  return 1;
}

# Everything but the agent and pid 1, in one call of the kernel's that no fork can outrun: other
# sessions, double forks, processes that ignore TERM. Repeated until nothing is left to signal.
sub kill_all {
  for (1 .. KILL_TRIES) {
    my $count = kill 'KILL', -1;
    reap($_) for grep { defined } $shell, values %runs;
    last unless $count;
    select undef, undef, undef, 0.002;
  }
  $lost = 0;
  if ($exec) { drain_shell(); end_exec('killed', 0) }
  drop_shell();
  end_run($_, 'killed') for keys %runs;
}

# ---- the shell -------------------------------------------------------------------------------

# What a command sees as its output is a copy, made anew for each: none can make those after it mute.
sub start_shell {
  pipe my $in_read,  my $in_write     or return;
  pipe my $out_read, my $out_write    or return;
  pipe my $status_read, my $status_write or return;
  my ($pid, $pidfd) = spawn(
    [
      $in_read, 0, $out_write, 1, $out_write, 2, $out_write, OUTPUT_FD, $status_write, STATUS_FD,
    ],
    '/bin/bash', 'bash', '--noprofile', '--norc',
  );
  return unless defined $pid;
  unblock($_) for $in_write, $out_read, $status_read;
  $shell = {
    pid => $pid, pidfd => $pidfd, in => $in_write, out => $out_read, status => $status_read,
    pending => FIRST_TO_END, carry => '', reply => '',
  };
}

sub drop_shell { $shell = undef }

# bash reads its script from a pipe, byte by byte, so that `read` can take the command from the same
# pipe. `eval` at top level (no loop, no function) leaves `break`, `return` and `declare` their meaning,
# turns unbalanced quotes into an error, and keeps cd, variables and functions. The first newline is for
# bash's parser, which after such an error takes the next `{` for a plain word. And after `$(` without an
# end bash 5.2 writes beside what it has allocated, with whatever it reads next: it lives on with this very
# script, and dies of shorter ones.
#
# With `-N` the command is read at once, where its characters are bytes: with a kernel in between, as gVisor
# is, each single byte costs what thousands cost elsewhere.
sub start_exec {
  my ($id, $command, $spill_path, $spill_after, $spill_max) = @_;
  return fail($id, 'EBUSY', 'a command is running') if $exec;
  if ($shell && reap($shell)) { $lost = 1; drop_shell() }
  if ($lost) { $lost = 0; return send_frame($id, 'r', 'lost', 0, 0, 0, 0, room_on(KEPT_DIR)) }
  start_shell() unless $shell;
  return fail_errno($id, 'start bash') unless $shell;
  $resting = 0;
  $exec = {
    id => $id, total => 0, forwarded => 0, omitted => 0, tail => '', spill_path => $spill_path,
    spill_after => $spill_after, spill_max => $spill_max, head => '', spilled => 0,
  };
  my $carry = $shell->{carry};
  $shell->{carry} = '';
  take_output($carry) if length $carry;
  my $is_plain = $command =~ /\A[\x01-\x7f]+\z/;
  my $count = $is_plain ? '-N ' . length($command) . ' ' : '';
  $shell->{pending} .=
      "\n{ IFS= builtin read -r -d '' ${count}__drover_command; } 2>/dev/null; "
    . 'builtin eval "$__drover_command" </dev/null >&' . OUTPUT_FD . ' 2>&1 '
    . OUTPUT_FD . '>&- ' . STATUS_FD . '>&-; '
    . q({ builtin printf '%d\n' "$?" >&) . STATUS_FD . "; } 2>/dev/null\n"
    . ($is_plain ? $command : "$command\0");
}

sub tend_shell {
  my ($read, $write) = @_;
  if (vec $write, fileno $shell->{in}, 1) {
    my $written = syswrite $shell->{in}, $shell->{pending};
    if   (defined $written) { substr $shell->{pending}, 0, $written, '' }
    elsif (!$!{EAGAIN})     { $shell->{pending} = '' }
  }
  if ($shell->{out} && vec $read, fileno $shell->{out}, 1) {
    # Between commands somebody may write without end: not at the price of a whole processor.
    $resting = 1 if take_shell_output() && !$exec;
  }
  # The end of the command is what counts, never the end of its output, which a background process
  # may hold open for ever.
  if ($exec && $shell->{status}) {
    my $got = sysread $shell->{status}, $shell->{reply}, 16, length $shell->{reply};
    # Closed by `exec` of a program, whose end is then that of the command.
    $shell->{status} = undef if defined $got && !$got;
    if ($shell->{reply} =~ /^(\d+)\n/) {
      $shell->{reply} = '';
      drain_shell();
      end_exec('exit', $1);
    }
  }
  return unless $shell && reap($shell);
  drain_shell();
  if   ($exec) { end_exec($shell->{signal} ? 'signal' : 'exit', $shell->{code}) }
  else         { $lost = 1 }
  drop_shell();
}

sub take_shell_output {
  return 0 unless $shell->{out};
  my $got = sysread $shell->{out}, my $chunk, CHUNK;
  $shell->{out} = undef if defined $got && !$got;
  return 0 unless $got;
  if ($exec) { take_output($chunk) }
  else { $shell->{carry} = substr $shell->{carry} . $chunk, -CARRY_KEEP() }
  return 1;
}

# What an ended command has written is in the pipe by now. Bounded: others may still be writing.
sub drain_shell {
  for (1 .. 16) { last unless take_shell_output() }
}

sub take_output {
  my ($chunk) = @_;
  $exec->{total} += length $chunk;
  spill($chunk) if length $exec->{spill_path};
  if ($exec->{forwarded} < FORWARD_MAX) {
    $exec->{forwarded} += length $chunk;
    send_frame($exec->{id}, 'o', $chunk);
    return;
  }
  $exec->{tail} .= $chunk;
  my $excess = length($exec->{tail}) - 2 * TAIL_KEEP;
  return if $excess < 0;
  $excess = length($exec->{tail}) - TAIL_KEEP;
  substr $exec->{tail}, 0, $excess, '';
  $exec->{omitted} += $excess;
}

sub end_exec {
  my ($end, $code) = @_;
  my $excess = length($exec->{tail}) - TAIL_KEEP;
  if ($excess > 0) {
    substr $exec->{tail}, 0, $excess, '';
    $exec->{omitted} += $excess;
  }
  send_frame($exec->{id}, 'o', $exec->{tail}) if length $exec->{tail};
  # The room left is told with every end: whether it is full is, and asking for it would be one more turn.
  send_frame($exec->{id}, 'r', $end, $code, @$exec{qw(total omitted spilled)}, room_on(KEPT_DIR));
  $exec = undef;
}

# Writes the whole output to a file, from the moment it is longer than asked for.
sub spill {
  my ($chunk) = @_;
  if (!$exec->{file}) {
    $exec->{head} .= $chunk;
    return if length $exec->{head} <= $exec->{spill_after};
    make_parents($exec->{spill_path});
    prune_spills($exec->{spill_path});
    sysopen $exec->{file}, $exec->{spill_path}, O_WRONLY | O_CREAT | O_EXCL, 0600
      or return $exec->{spill_path} = '';
    $chunk = $exec->{head};
    $exec->{head} = '';
  }
  my $room = $exec->{spill_max} - $exec->{spilled};
  return if $room <= 0;
  my $written = syswrite $exec->{file}, $chunk, $room < length $chunk ? $room : length $chunk;
  return $exec->{spill_max} = 0 unless $written;
  $exec->{spilled} += $written;
}

sub prune_spills {
  my ($path) = @_;
  (my $dir = $path) =~ s{/[^/]*\z}{};
  opendir my $handle, $dir or return;
  my @old = sort { $a->[1] <=> $b->[1] }
    map { [ $_, (lstat "$dir/$_")[9] // 0 ] } grep { !/^\./ } readdir $handle;
  while (@old >= SPILLS_KEEP) { unlink "$dir/" . (shift @old)->[0] }
}

# ---- programs beside the shell ---------------------------------------------------------------

sub start_run {
  my ($id, $max, @argv) = @_;
  return fail($id, 'EAGAIN', 'too many programs are running') if keys %runs >= RUNS_MAX;
  my $program = find_program($argv[0]);
  return fail($id, 'ENOENT', "$argv[0]: there is no such program") unless defined $program;
  open my $null, '<', '/dev/null' or return fail_errno($id, '/dev/null');
  pipe my $out_read, my $out_write or return fail_errno($id, 'pipe');
  pipe my $err_read, my $err_write or return fail_errno($id, 'pipe');
  my ($pid, $pidfd) =
    spawn([ $null, 0, $out_write, 1, $err_write, 2 ], $program, @argv);
  return fail_errno($id, 'fork') unless defined $pid;
  unblock($_) for $out_read, $err_read;
  $runs{$id} =
    { pid => $pid, pidfd => $pidfd, out => $out_read, err => $err_read, room => $max, message => '' };
}

sub find_program {
  my ($name) = @_;
  return $name if $name =~ m{/};
  for my $dir (split /:/, $ENV{PATH} // '/usr/bin:/bin') {
    return "$dir/$name" if -f "$dir/$name" && -x _;
  }
  return undef;
}

sub tend_run {
  my ($id, $read) = @_;
  my $run = $runs{$id};
  for my $name (qw(out err)) {
    take_run_output($id, $run, $name) if $run->{$name} && vec $read, fileno $run->{$name}, 1;
  }
  return unless $runs{$id} && reap($run);
  for my $name (qw(out err)) {
    for (1 .. 16) { last unless $run->{$name} && take_run_output($id, $run, $name) }
  }
  end_run($id, $run->{signal} ? 'signal' : 'exit') if $runs{$id};
}

sub take_run_output {
  my ($id, $run, $name) = @_;
  my $got = sysread $run->{$name}, my $chunk, CHUNK;
  if (!$got) {
    $run->{$name} = undef if defined $got;
    return 0;
  }
  if ($name eq 'err') {
    $run->{message} = substr $run->{message} . $chunk, 0, ERROR_KEEP;
    return 1;
  }
  $chunk = substr $chunk, 0, $run->{room};
  $run->{room} -= length $chunk;
  send_frame($id, 'o', $chunk) if length $chunk;
  return 1 if length $chunk == $got;
  end_run($id, 'full');
  return 0;
}

sub end_run {
  my ($id, $end) = @_;
  my $run = delete $runs{$id} or return;
  if (!$run->{ended}) {
    # It may not have become the first of a group yet, and by the next line it may.
    kill 'KILL', $_ for -$run->{pid}, $run->{pid}, -$run->{pid};
    waitpid $run->{pid}, 0;
  }
  send_frame($id, 'r', $end, $run->{code} // 0, $run->{message});
}

# ---- files -----------------------------------------------------------------------------------

sub read_file {
  my ($id, $path, $offset, $limit) = @_;
  # O_NONBLOCK: opening a FIFO that nobody writes would otherwise stop the agent.
  sysopen my $file, $path, O_RDONLY | O_NONBLOCK | O_NOCTTY or return fail_errno($id, $path);
  my @stat = stat $file;
  return fail($id, 'EISDIR', "$path: is a directory") if S_ISDIR($stat[2]);
  return fail($id, 'EINVAL', "$path: is not a regular file") unless S_ISREG($stat[2]);
  sysseek $file, $offset, 0 or return fail_errno($id, $path);
  $limit = READ_MAX if $limit > READ_MAX;
  my $bytes = '';
  while (length $bytes < $limit) {
    my $got = sysread $file, $bytes, $limit - length $bytes, length $bytes;
    return fail_errno($id, $path) unless defined $got;
    last unless $got;
  }
  # Files of /proc say that they are empty.
  my $end = $offset + length $bytes;
  send_frame($id, 'r', length $bytes && $end > $stat[7] ? $end : $stat[7], $bytes);
}

sub make_parents {
  my ($path) = @_;
  my $made = '';
  for my $part (grep { length } split m{/}, $path =~ s{/[^/]*\z}{}r) {
    $made .= "/$part";
    next if mkdir $made, 0755;
    return 0 unless $!{EEXIST} || $!{EROFS} || $!{EACCES} || $!{EPERM};
  }
  return 1;
}

# The file that a chain of symbolic links names, which may not exist yet.
sub resolve_links {
  my ($path) = @_;
  for (1 .. 40) {
    my $target = readlink $path;
    return $path unless defined $target;
    $path = $target =~ m{^/} ? $target : $path =~ s{[^/]*\z}{}r . $target;
  }
  $! = 40;
  return undef;
}

sub write_file {
  my ($id, $token, $path, $chunk, $last, $version) = @_;
  my $write = $writes{$token} // open_write($path, $version);
  return fail_errno($id, $path) unless $write;
  $writes{$token} = $write;
  while (length $chunk) {
    my $written = syswrite $write->{file}, $chunk;
    if (!$written) {
      fail_errno($id, $path);
      return drop_write($token);
    }
    substr $chunk, 0, $written, '';
  }
  return send_frame($id, 'r') unless $last;
  if (defined $version && version_of($path) ne $version) {
    drop_write($token);
    return fail($id, 'ESTALE', "$path: is not as it was");
  }
  if (!rename $write->{temporary}, $write->{target}) {
    fail_errno($id, $path);
    return drop_write($token);
  }
  delete $writes{$token};
  unlink $write->{note};
  send_frame($id, 'r');
}

sub drop_write {
  my ($token) = @_;
  my $write = delete $writes{$token};
  unlink $write->{temporary}, $write->{note};
}

# Each half-written file is noted before it is there, as the target of a link, because this process may
# be killed at any time. The hand's next sandbox removes what it finds noted.
sub remove_half_written {
  opendir my $handle, STATE_DIR or return;
  for my $note (map { STATE_DIR . "/$_" } grep { /^\.writing-/ } readdir $handle) {
    my $temporary = readlink $note;
    unlink $temporary if defined $temporary && is_half_written($temporary);
    unlink $note;
  }
}

sub is_half_written { return $_[0] =~ m{(?:^|/)\.drover-write-\d+-\d+\z} }

sub open_write {
  my ($path, $version) = @_;
  if (keys %writes >= WRITES_MAX) { $! = 11; return undef }
  my $target = defined $version ? $path : resolve_links($path) // return undef;
  my @stat = defined $version ? lstat $target : stat $target;
  if (@stat && !S_ISREG($stat[2]) && !(defined $version && !S_ISDIR($stat[2]))) { $! = S_ISDIR($stat[2]) ? 21 : 22; return undef }
  make_parents($target) or return undef;
  # A file that may not be written is not replaced either.
  if (@stat && !defined $version && !-w _) { $! = 13; return undef }
  my $temporary = $target =~ s{[^/]*\z}{}r . '.drover-write-' . ++$write_count . '-' . int rand 1e9;
  my $note = STATE_DIR . "/.writing-$write_count-" . int rand 1e9;
  symlink $temporary, $note;
  if (!sysopen my $file, $temporary, O_WRONLY | O_CREAT | O_EXCL, 0644) {
    my $why = $! + 0;
    unlink $note;
    $! = $why;
    return undef;
  }
  else {
    chmod $stat[2] & 07777, $file if @stat && S_ISREG($stat[2]);
    return { file => $file, temporary => $temporary, target => $target, note => $note };
  }
}

# (type, size, mtime_ms, version), final link not followed; statx, as perl-base has whole seconds only.
sub describe {
  my ($path) = @_;
  my $buffer = "\0" x 256;
  return if syscall($SYS{statx}, -100, "$path", 0x100, 0x7ff, $buffer) != 0;
  my ($mode, $inode, $size) = unpack 'x28 S x2 Q Q', $buffer;
  my ($changed, $changed_ns) = unpack 'x96 q L', $buffer;
  my ($modified, $modified_ns) = unpack 'x112 q L', $buffer;
  my $type =
      S_ISREG($mode) ? 'file'
    : S_ISDIR($mode) ? 'directory'
    : S_ISLNK($mode) ? 'symlink'
    :                  'other';
  return (
    $type, $size, $modified * 1000 + int $modified_ns / 1e6,
    join '-', $inode, $size, "$modified.$modified_ns", "$changed.$changed_ns",
  );
}

# Empty where nothing is.
sub version_of { (describe($_[0]))[3] // '' }

sub remove_file {
  my ($id, $path, $version, $root) = @_;
  my $present = version_of($path);
  return fail($id, 'ESTALE', "$path: is not as it was") if length $present && $present ne $version;
  if (length $present) { unlink $path or return fail_errno($id, $path) }
  while ($path =~ s{/[^/]+\z}{} && index($path, "$root/") == 0) { rmdir $path or last }
  send_frame($id, 'r');
}

sub stat_file {
  my ($id, $path) = @_;
  my @description = describe($path) or return fail_errno($id, $path);
  send_frame($id, 'r', @description);
}

sub list_files {
  my ($id, $root, $limit) = @_;
  my (@found, $visited);
  my ($count, $bytes) = (0, 0);
  my @todo = ((describe($root))[0] // '') eq 'directory' ? ($root) : ();
  DIR: while (defined(my $dir = shift @todo)) {
    opendir my $handle, $dir or next;
    while (defined(my $name = readdir $handle)) {
      next if $name eq '.' || $name eq '..' || is_half_written($name);
      last DIR if ++$visited > LIST_VISIT_MAX;
      my $path = $dir eq '/' ? "/$name" : "$dir/$name";
      my @description = describe($path) or next;
      if ($description[0] eq 'directory') { push @todo, $path; next }
      $bytes += length($path) + 150;
      last DIR if ++$count > $limit || $bytes > LIST_BYTES_MAX;
      push @found, $path, @description;
    }
  }
  send_frame($id, 'r', @found);
}

sub measure_disk {
  my ($id, $path) = @_;
  my @room = room_on($path) or return fail_errno($id, $path);
  send_frame($id, 'r', @room);
}

# (free bytes, free files) of the file system that it is in; empty with $! where there is none.
sub room_on {
  my ($path) = @_;
  my $buffer = "\0" x 256;
  return if syscall($SYS{statfs}, "$path", $buffer) != 0;
  my ($block, $free, $files) = unpack 'x8 Q x16 Q x8 Q', $buffer;
  return ($free * $block, $files);
}
