# Gives this process a network of its own whose every way leads into listeners that another process
# serves. Speaks to the kernel by itself: neither `ip` nor `nft` is needed, and nothing is forked.
#
# In the new network there is only `lo`. Every address is local to it, so that a connection to anywhere
# arrives at once, and a rule hands each one that is not for the sandbox itself to the transparent
# listener. Whatever is not TCP is dropped. No process of the sandbox has a capability over any of it.
package DroverExit;
use strict;
use warnings;
use Config;
use Socket qw(AF_INET AF_INET6 SOCK_STREAM SOCK_DGRAM SOCK_RAW IN6ADDR_ANY inet_pton
  pack_sockaddr_in pack_sockaddr_in6);

use constant {
  PROXY_PORT => 3128, TRANSPARENT_PORT => 3129, NAMES_PORT => 53,
  CLONE_NEWUSER => 0x10000000, CLONE_NEWNET => 0x40000000,
  AF_NETLINK => 16, NETLINK_ROUTE => 0, NETLINK_NETFILTER => 12,
  SOL_IP => 0, SOL_IPV6 => 41, IP_TRANSPARENT => 19, IPV6_V6ONLY => 26, IPV6_TRANSPARENT => 75,
  IFF_UP => 1, LOOPBACK => 1, BACKLOG => 511,
  # Netlink: kinds of messages and their flags.
  ERROR => 2, NEW_LINK => 16, NEW_ADDRESS => 20, NEW_ROUTE => 24,
  REQUEST => 0x1, ACK => 0x4, CREATE => 0x400, APPEND => 0x800,
  BATCH_BEGIN => 0x10, BATCH_END => 0x11, NEW_TABLE => 0xa00, NEW_CHAIN => 0xa03, NEW_RULE => 0xa06,
  # Of nftables.
  NESTED => 0x8000, NFPROTO_INET => 1, NFPROTO_IPV4 => 2, NFPROTO_IPV6 => 10,
  META_NFPROTO => 15, META_L4PROTO => 16, REGISTER => 1, VERDICT_REGISTER => 0,
  NETWORK_HEADER => 1, IPV4_DESTINATION => 16, IPV6_DESTINATION => 24,
  PREROUTING => 0, MANGLE => -150, ACCEPT => 1, DROP => 0, TCP => 6,
};

# Source of connections from inside, so that what comes back is told from what goes out.
my $OWN_V4 = inet_pton(AF_INET, '198.18.0.1');
my $OWN_V6 = inet_pton(AF_INET6, 'fd64:726f:7665:7200::1');
my $NAMES_ADDRESS = inet_pton(AF_INET, '127.0.0.53');
my $PROXY_ADDRESS = inet_pton(AF_INET, '127.0.0.1');
my $SENDMSG = $Config{archname} =~ /^x86_64/ ? 46 : 211;

my $fail;

# Makes the network, and passes its listeners through the channel $fd that Node gave its child.
sub open_exit {
  my ($unshare, $fd, $is_root, $on_failure) = @_;
  $fail = sub { $on_failure->("network: $_[0]") };
  own_network($unshare, $is_root);
  serve_exit($fd);
}

# The same in the network that this process is in, which has nothing but `lo`.
sub open_exit_here {
  my ($fd, $on_failure) = @_;
  $fail = sub { $on_failure->("network: $_[0]") };
  serve_exit($fd);
}

sub serve_exit {
  my ($fd) = @_;
  my $has_v6 = configure();
  my @listeners = (
    transparent => transparent($has_v6),
    proxy => listening(AF_INET, pack_sockaddr_in(PROXY_PORT, $PROXY_ADDRESS)),
    names => names(),
  );
  hand_over($fd, splice @listeners, 0, 2) while @listeners;
}

# Without root the network belongs to a user namespace of its own, in which this user is who it is;
# bubblewrap makes another below, so that the inside has no capability over the network either way.
sub own_network {
  my ($unshare, $is_root) = @_;
  my ($uid, $gid) = ($> + 0, (split ' ', $))[0]);
  syscall($unshare, CLONE_NEWNET | ($is_root ? 0 : CLONE_NEWUSER)) == 0 or $fail->("unshare: $!");
  return if $is_root;
  put('setgroups', 'deny');
  put('uid_map', "$uid $uid 1");
  put('gid_map', "$gid $gid 1");
}

sub put {
  my ($name, $text) = @_;
  open my $file, '>', "/proc/self/$name" or $fail->("open $name: $!");
  defined syswrite $file, $text or $fail->("write $name: $!");
  close $file;
}

sub configure {
  ask_kernel(NETLINK_ROUTE, message(NEW_LINK, REQUEST | ACK, pack('CxSlLL', 0, 0, LOOPBACK, IFF_UP, IFF_UP)))
    and $fail->("lo: $!");
  ask_kernel(NETLINK_ROUTE, everywhere_local(AF_INET, $OWN_V4)) and $fail->("routes: $!");
  # A kernel may have no IPv6; then nothing can be reached over it.
  my $has_v6 = !ask_kernel(NETLINK_ROUTE, everywhere_local(AF_INET6, $OWN_V6));
  my $batch = pack 'CCn', 0, 0, 10;
  ask_kernel(
    NETLINK_NETFILTER,
    message(BATCH_BEGIN, REQUEST, $batch),
    rules(),
    message(BATCH_END, REQUEST, $batch),
  ) and $fail->("rules: $!");
  return $has_v6;
}

sub everywhere_local {
  my ($family, $own) = @_;
  my $bits = 8 * length $own;
  # No duplicate address detection (2), scope global (0); then table local (255), scope host, kind local.
  return (
    message(NEW_ADDRESS, REQUEST | ACK | CREATE,
      pack('CCCCL', $family, $bits, 2, 0, LOOPBACK) . attribute(2, $own) . attribute(1, $own)),
    message(NEW_ROUTE, REQUEST | ACK | CREATE,
      pack('C8L', $family, 0, 0, 0, 255, 3, 254, 2, 0)
        . attribute(4, pack 'L', LOOPBACK) . attribute(7, $own)),
  );
}

sub rules {
  my $inet = pack 'CCn', NFPROTO_INET, 0, 0;
  my $hook = nested(4, number(1, PREROUTING), number(2, MANGLE & 0xffffffff));
  my $new = REQUEST | ACK | CREATE;
  my $rule = sub {
    return message(NEW_RULE, $new | APPEND,
      $inet . text(1, 'exit') . text(2, 'pre') . nested(4, @_));
  };
  my $port = nested(2, attribute(1, pack 'n', TRANSPARENT_PORT));
  return (
    message(NEW_TABLE, $new, $inet . text(1, 'exit')),
    message(NEW_CHAIN, $new,
      $inet . text(1, 'exit') . text(3, 'pre') . $hook . number(5, DROP) . text(7, 'filter')),
    $rule->(destined(NFPROTO_IPV4, IPV4_DESTINATION, "\x7f")),
    $rule->(destined(NFPROTO_IPV4, IPV4_DESTINATION, $OWN_V4)),
    $rule->(destined(NFPROTO_IPV6, IPV6_DESTINATION, ("\0" x 15) . "\1")),
    $rule->(destined(NFPROTO_IPV6, IPV6_DESTINATION, $OWN_V6)),
    $rule->(
      meta(META_L4PROTO), equals(chr TCP),
      expression('immediate', number(1, REGISTER), $port),
      expression('tproxy', number(1, 0), number(3, REGISTER)),
      accepted(),
    ),
  );
}

sub destined {
  my ($protocol, $offset, $bytes) = @_;
  return (
    meta(META_NFPROTO), equals(chr $protocol),
    expression('payload', number(1, REGISTER), number(2, NETWORK_HEADER),
      number(3, $offset), number(4, length $bytes)),
    equals($bytes), accepted(),
  );
}

sub meta { return expression('meta', number(2, $_[0]), number(1, REGISTER)) }

sub equals {
  return expression('cmp', number(1, REGISTER), number(2, 0), nested(3, attribute(1, $_[0])));
}

sub accepted {
  my $verdict = nested(2, nested(2, number(1, ACCEPT)));
  return expression('immediate', number(1, VERDICT_REGISTER), $verdict);
}

sub expression { my ($name, @data) = @_; return nested(1, text(1, $name), nested(2, @data)) }

sub attribute {
  my ($type, $data) = @_;
  my $length = 4 + length $data;
  return pack('SS', $length, $type) . $data . ("\0" x (-$length & 3));
}

sub nested { my ($type, @parts) = @_; return attribute($type | NESTED, join '', @parts) }
sub number { my ($type, $value) = @_; return attribute($type, pack 'N', $value) }
sub text   { my ($type, $value) = @_; return attribute($type, "$value\0") }

my $sequence = 0;
# What must stay open until another program is run.
my @kept;

sub message {
  my ($type, $flags, $body) = @_;
  return pack('LSSLL', 16 + length $body, $type, $flags, ++$sequence, 0) . $body;
}

# Sends messages and reads their acknowledgements. True with $! set if the kernel refuses one.
sub ask_kernel {
  my ($protocol, @messages) = @_;
  socket my $kernel, AF_NETLINK, SOCK_RAW, $protocol or return 1;
  send $kernel, join('', @messages), 0, pack('SSLL', AF_NETLINK, 0, 0, 0) or return 1;
  my $awaited = grep { unpack('x6S', $_) & ACK } @messages;
  while ($awaited > 0) {
    defined recv $kernel, my $answers, 65_536, 0 or return 1;
    while (length $answers >= 20) {
      my ($length, $type) = unpack 'LS', $answers;
      if ($type == ERROR) {
        my $error = unpack 'x16l', $answers;
        if ($error != 0) { $! = -$error; return 1 }
        $awaited -= 1;
      }
      my $next = ($length + 3) & ~3;
      last if $length < 16 || $next >= length $answers;
      substr $answers, 0, $next, '';
    }
  }
  return 0;
}

sub transparent {
  my ($has_v6) = @_;
  my $address = $has_v6
    ? pack_sockaddr_in6(TRANSPARENT_PORT, IN6ADDR_ANY)
    : pack_sockaddr_in(TRANSPARENT_PORT, "\0\0\0\0");
  return listening($has_v6 ? AF_INET6 : AF_INET, $address, sub {
    my ($socket) = @_;
    return setsockopt $socket, SOL_IP, IP_TRANSPARENT, pack('l', 1) unless $has_v6;
    return setsockopt($socket, SOL_IPV6, IPV6_V6ONLY, pack 'l', 0)
      && setsockopt($socket, SOL_IPV6, IPV6_TRANSPARENT, pack 'l', 1);
  });
}

sub listening {
  my ($family, $address, $prepare) = @_;
  socket my $socket, $family, SOCK_STREAM, 0 or $fail->("socket: $!");
  if ($prepare) { $prepare->($socket) or $fail->("transparent: $!") }
  bind $socket, $address or $fail->("bind: $!");
  listen $socket, BACKLOG or $fail->("listen: $!");
  return $socket;
}

sub names {
  socket my $socket, AF_INET, SOCK_DGRAM, 0 or $fail->("socket: $!");
  bind $socket, pack_sockaddr_in(NAMES_PORT, $NAMES_ADDRESS) or $fail->("bind: $!");
  return $socket;
}

# As one process of Node passes a handle to another: a line of JSON with the descriptor beside it, and an
# answer once it was received.
sub hand_over {
  my ($channel, $name, $socket) = @_;
  my $type = $name eq 'names' ? '"dgram.Socket","dgramType":"udp4"' : '"net.Native"';
  my $line = qq({"cmd":"NODE_HANDLE","type":$type,"msg":"$name"}\n);
  my $vector = pack 'PQ', $line, length $line;
  # SOL_SOCKET and SCM_RIGHTS are both 1.
  my $control = pack 'Qlllx4', 20, 1, 1, fileno $socket;
  my $header = pack 'QLx4PQPQlx4', 0, 0, $vector, 1, $control, length $control, 0;
  syscall($SENDMSG, $channel + 0, $header, 0) == length $line or $fail->("sendmsg: $!");
  my $answer = '';
  open my $reading, '<&=', $channel + 0 or $fail->("channel: $!");
  while ($answer !~ /\n/) {
    sysread $reading, $answer, 4096, length $answer or $fail->('the listeners were not taken');
  }
  # Kept: to close the handle is to close the channel.
  push @kept, $reading;
}

1;
