import { crc32 } from "node:zlib";

export interface ZipFile {
  readonly name: string;
  readonly content: string;
  readonly isExecutable?: boolean;
}

/** A zip archive of files as they are, unpacked by anything. */
export function zipOf(files: readonly ZipFile[]): Uint8Array<ArrayBuffer> {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, isExecutable = false } of files) {
    const [path, bytes] = [Buffer.from(name), Buffer.from(content)];
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(bytes.length, 14);
    fields.writeUInt32LE(bytes.length, 18);
    fields.writeUInt16LE(path.length, 22);
    const entry = Buffer.alloc(46);
    entry.write("PK\x01\x02", 0, "latin1");
    entry.writeUInt16LE(0x0314, 4);
    fields.copy(entry, 6);
    entry.writeUInt32LE((isExecutable ? 0o100755 : 0o100644) * 0x10000, 38);
    entry.writeUInt32LE(at, 42);
    directory.push(entry, path);
    bodies.push(Buffer.from("PK\x03\x04", "latin1"), fields, path, bytes);
    at += 30 + path.length + bytes.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return new Uint8Array(Buffer.concat([...bodies, central, end]));
}
