import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";

/** Archives made byte by byte, so that they can say what no packer would let them say. */

export interface Member {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** Unix mode with the type of the file; of a zip. */
  readonly mode?: number;
  /** One character as tar has it: `1` a hard link, `2` a symbolic one, `3` and `4` devices, `6` a pipe. */
  readonly type?: string;
  /** What is declared instead of the truth. */
  readonly size?: number;
  readonly checksum?: number;
  readonly isEncrypted?: boolean;
}

type Bytes = Uint8Array<ArrayBuffer>;

export function zipOf(members: readonly Member[]): Bytes {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const member of members) {
    const name = Buffer.from(member.name);
    const content = Buffer.from(member.content ?? "");
    const packed = deflateRawSync(content);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(member.isEncrypted === true ? 0x801 : 0x800, 2);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(member.checksum ?? crc32(content), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(member.size ?? content.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const head = Buffer.alloc(46);
    head.write("PK\x01\x02", 0, "latin1");
    head.writeUInt16LE(0x0314, 4);
    fields.copy(head, 6);
    head.writeUInt32LE((member.mode ?? 0o100644) * 0x10000, 38);
    head.writeUInt32LE(at, 42);
    directory.push(head, name);
    bodies.push(Buffer.from("PK\x03\x04", "latin1"), fields, name, packed);
    at += 30 + name.length + packed.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return new Uint8Array(Buffer.concat([...bodies, central, end]));
}

export function tarOf(members: readonly Member[]): Bytes {
  const blocks = members.flatMap((member) => {
    const content = Buffer.from(member.content ?? "");
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [tarHeader(member, content.length), content, padding];
  });
  return new Uint8Array(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

function tarHeader(member: Member, size: number): Buffer {
  const head = Buffer.alloc(512);
  const octal = (value: number, place: number, length: number) =>
    head.write(value.toString(8).padStart(length - 1, "0"), place, "latin1");
  head.write(member.name, 0);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(member.size ?? size, 124, 12);
  octal(0, 136, 12);
  head.write("        ", 148, "latin1");
  head.write(member.type ?? "0", 156, "latin1");
  head.write("ustar\x0000", 257, "latin1");
  const sum = head.reduce((total, byte) => total + byte, 0);
  octal(sum, 148, 7);
  return head;
}

/** The names and contents of a zip archive. */
export function readZip(bytes: Uint8Array): Record<string, string> {
  const zip = Buffer.from(bytes);
  const end = zip.lastIndexOf("PK\x05\x06", undefined, "latin1");
  const contents: Record<string, string> = {};
  let at = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [nameLength, extraLength] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30)];
    const name = zip.toString("utf8", at + 46, at + 46 + nameLength);
    const local = zip.readUInt32LE(at + 42);
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20));
    const isDeflated = zip.readUInt16LE(at + 10) === 8;
    contents[name] = (isDeflated ? inflateRawSync(packed) : packed).toString();
    at += 46 + nameLength + extraLength + zip.readUInt16LE(at + 32);
  }
  return contents;
}
