/** Archives for tests, also such that no tool would make. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface TarEntry {
  readonly name: string;
  readonly content?: string | Buffer;
  /** `0` a file, `2` a link, `5` a folder. */
  readonly type?: string;
  /** In the header; default: that of the content. */
  readonly size?: number;
}

export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap(({ name, content = '', type = '0', size }) => {
    const bytes = Buffer.from(content);
    const head = Buffer.alloc(512);
    head.write(name.slice(0, 100), 0, 'utf8');
    head.write('0000644\u00000000000\u00000000000\u0000', 100, 'latin1');
    head.write(`${(size ?? bytes.length).toString(8).padStart(11, '0')}\u0000`, 124, 'latin1');
    head.write('00000000000\u0000        ', 136, 'latin1');
    head.write(type, 156, 'latin1');
    head.write('ustar\u000000', 257, 'latin1');
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1');
    return [head, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

export interface ZipEntry {
  readonly name: string;
  readonly content?: string | Buffer;
  /** The mode of the file, as Unix has it. */
  readonly mode?: number;
  /** What the directory says. Default: the truth. */
  readonly size?: number;
  readonly flags?: number;
}

export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content = '', mode = 0o100644, size, flags = 0 } of entries) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt16LE(Buffer.byteLength(name), 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry[5] = 3;
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(crc32(bytes), 16);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(size ?? bytes.length, 24);
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    entry.writeUInt16LE(mode, 40);
    entry.writeUInt32LE(at, 42);
    files.push(local, Buffer.from(name), packed);
    directory.push(entry, Buffer.from(name));
    at += 30 + Buffer.byteLength(name) + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, ...directory, end]);
}
