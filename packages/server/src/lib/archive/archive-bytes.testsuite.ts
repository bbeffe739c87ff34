import { crc32, deflateRawSync } from "node:zlib";

/** Archives made byte by byte, so that they can say what no packer would let them say. */

export interface ZipEntry {
  readonly name: string | Buffer;
  readonly content?: string | Uint8Array;
  /** Unix mode with the type of the file; 0 says nothing. */
  readonly mode?: number;
  readonly isStored?: boolean;
  /** What the directory declares instead of the truth. */
  readonly size?: number;
  readonly crc?: number;
  readonly flags?: number;
  readonly method?: number;
  /** Instead of a header and data of its own, those at this place. */
  readonly offset?: number;
}

const UTF8 = 0x800;

export function zipBytes(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const { isStored = false, mode = 0o100644, flags = UTF8 } = entry;
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content ?? "");
    const packed = isStored ? content : deflateRawSync(content);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(flags, 2);
    fields.writeUInt16LE(entry.method ?? (isStored ? 0 : 8), 4);
    fields.writeUInt32LE(entry.crc ?? crc32(content), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(entry.size ?? content.length, 18);
    fields.writeUInt16LE(name.length, 22);
    if (entry.offset === undefined) parts.push(Buffer.from("PK\x03\x04"), fields, name, packed);
    const head = Buffer.alloc(46);
    head.write("PK\x01\x02", 0, "latin1");
    head.writeUInt16LE((3 << 8) | 20, 4);
    fields.copy(head, 6);
    head.writeUInt32LE(mode * 0x10000, 38);
    head.writeUInt32LE(entry.offset ?? at, 42);
    directory.push(head, name);
    at = parts.reduce((size, part) => size + part.length, 0);
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, central, end]);
}

export interface TarEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** One character: `0` a file, `1` a hard link, `2` a symbolic link, `3` `4` devices, `5` a folder, `6` a pipe. */
  readonly type?: string;
  readonly mode?: number;
  readonly link?: string;
  /** What the header declares instead of the truth. */
  readonly size?: number;
}

export function tarBytes(entries: readonly TarEntry[], { isEnded = true } = {}): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? "");
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [tarHeader(entry, content.length), content, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(isEnded ? 1024 : 0)]);
}

function tarHeader(entry: TarEntry, size: number): Buffer {
  const head = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number) =>
    head.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  head.write(entry.name, 0);
  octal(entry.mode ?? 0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.size ?? size, 124, 12);
  octal(0, 136, 12);
  head.write("        ", 148, "latin1");
  head.write(entry.type ?? "0", 156, "latin1");
  head.write(entry.link ?? "", 157);
  head.write("ustar\0" + "00", 257, "latin1");
  octal(
    head.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return head;
}
