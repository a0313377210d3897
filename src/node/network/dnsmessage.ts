/**
 * DNS messages: questions are read and answers written, both in full distrust. No name that points to another place
 * is followed, so nothing can run in circles.
 */

export const recordTypes = { A: 1, CNAME: 5, SOA: 6, AAAA: 28, SRV: 33, OPT: 41, ANY: 255 } as const;
export const replyCodes = { ok: 0, malformed: 1, failed: 2, noName: 3, unknown: 4, refused: 5 } as const;

type ReplyCode = (typeof replyCodes)[keyof typeof replyCodes];

const headerBytes = 12;
const labelBytesMax = 63;
/** The lengths of labels included. */
const nameBytesMax = 255;
const classInternet = 1;
const classAny = 255;
/** Without a word about it, a client takes no more in a datagram. */
const datagramBytesDefault = 512;
/** Larger ones would be cut to pieces on the way; this is what resolvers have agreed on. */
export const datagramBytesMax = 1_232;
const additionalMax = 8;

export interface Question {
  /** In lower case. */
  readonly labels: readonly string[];
  readonly type: number;
}

export interface DnsQuery {
  readonly id: number;
  readonly recursion: boolean;
  readonly question: Question;
  /** As it came: clients compare it, letters big and small included. */
  readonly questionBytes: Buffer;
  /** What the client takes in one datagram. */
  readonly datagramBytes: number;
  /** Whether it speaks of extensions, and so is to be answered with some. */
  readonly extended: boolean;
}

/** A message that deserves an answer, but not to its question. */
export interface BadQuery {
  readonly id: number;
  readonly code: ReplyCode;
}

export type DnsRecord = { readonly name: readonly string[]; readonly ttl: number } & (
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'CNAME'; readonly target: readonly string[] }
  | { readonly type: 'SRV'; readonly port: number; readonly target: readonly string[] }
  | { readonly type: 'SOA'; readonly server: readonly string[] }
);

export interface Reply {
  readonly code: ReplyCode;
  readonly answers?: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly additionals?: readonly DnsRecord[];
  /** Whether it is about names of this cluster. */
  readonly own: boolean;
}

/** Undefined for what is not to be answered at all. */
export function parseQuery(bytes: Buffer): DnsQuery | BadQuery | undefined {
  if (bytes.length < headerBytes) return undefined;
  const flags = bytes.readUInt16BE(2);
  // Answers to answers would never end.
  if (flags & 0x8000) return undefined;
  const id = bytes.readUInt16BE(0);
  if ((flags >> 11) & 0xf) return { id, code: replyCodes.unknown };
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at));
  const malformed = { id, code: replyCodes.malformed };
  if (questions !== 1 || answers || authorities || additionals! > additionalMax) return malformed;
  const name = readLabels(bytes, headerBytes);
  if (!name || name.end + 4 > bytes.length) return malformed;
  const type = bytes.readUInt16BE(name.end);
  const recordClass = bytes.readUInt16BE(name.end + 2);
  const extension = readExtension(bytes, name.end + 4, additionals!);
  if (extension === 'malformed') return malformed;
  if (recordClass !== classInternet && recordClass !== classAny) return { id, code: replyCodes.refused };
  return {
    id,
    recursion: (flags & 0x100) !== 0,
    question: { labels: name.labels, type },
    questionBytes: Buffer.from(bytes.subarray(headerBytes, name.end + 4)),
    datagramBytes: Math.min(Math.max(extension ?? 0, datagramBytesDefault), datagramBytesMax),
    extended: extension !== undefined,
  };
}

function readLabels(bytes: Buffer, start: number): { labels: string[]; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = bytes[at];
    if (length === undefined || length > labelBytesMax) return undefined;
    at += 1 + length;
    if (at > bytes.length || at - start > nameBytesMax) return undefined;
    if (length === 0) return { labels, end: at };
    labels.push(bytes.toString('latin1', at - length, at).toLowerCase());
  }
}

/** The size of datagrams a client takes, if it says so in one of its additional records. */
function readExtension(bytes: Buffer, start: number, count: number): number | undefined | 'malformed' {
  let at = start;
  let size: number | undefined;
  for (let index = 0; index < count; index++) {
    const name = readLabels(bytes, at);
    if (!name || name.end + 10 > bytes.length) return 'malformed';
    const type = bytes.readUInt16BE(name.end);
    if (type === recordTypes.OPT) size = bytes.readUInt16BE(name.end + 2);
    at = name.end + 10 + bytes.readUInt16BE(name.end + 8);
    if (at > bytes.length) return 'malformed';
  }
  return size;
}

/** The answer to a query, or only word that it is too long for so many bytes. */
export function encodeReply(query: DnsQuery, reply: Reply, bytesMax: number): Buffer {
  const full = encode(query, reply, false);
  return full.length <= bytesMax ? full : encode(query, { code: reply.code, own: reply.own }, true);
}

export function encodeRefusal({ id, code }: BadQuery): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(0x8000 | code, 2);
  return header;
}

function encode(query: DnsQuery, reply: Reply, truncated: boolean): Buffer {
  const { answers = [], authorities = [], additionals = [] } = reply;
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(query.id, 0);
  const flags = [0x8000, reply.own && 0x400, truncated && 0x200, query.recursion && 0x100, 0x80];
  header.writeUInt16BE(
    flags.reduce<number>((all, flag) => all | (flag || 0), reply.code),
    2,
  );
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answers.length, 6);
  header.writeUInt16BE(authorities.length, 8);
  header.writeUInt16BE(additionals.length + (query.extended ? 1 : 0), 10);
  const asked = query.question.labels.join('.');
  const records = [...answers, ...authorities, ...additionals].map((record) => encodeRecord(record, asked));
  return Buffer.concat([header, query.questionBytes, ...records, ...(query.extended ? [extension()] : [])]);
}

function extension(): Buffer {
  const record = Buffer.alloc(11);
  record.writeUInt16BE(recordTypes.OPT, 1);
  record.writeUInt16BE(datagramBytesMax, 3);
  return record;
}

function encodeRecord(record: DnsRecord, asked: string): Buffer {
  // The name that was asked for begins right behind the header.
  const owner = record.name.join('.') === asked ? Buffer.from([0xc0, headerBytes]) : encodeName(record.name);
  const data = encodeData(record);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(recordTypes[record.type], 0);
  fixed.writeUInt16BE(classInternet, 2);
  fixed.writeUInt32BE(record.ttl, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

function encodeData(record: DnsRecord): Buffer {
  switch (record.type) {
    case 'A':
      return Buffer.from(record.address.split('.').map(Number));
    case 'CNAME':
      return encodeName(record.target);
    case 'SRV': {
      const fixed = Buffer.alloc(6);
      // All are as good as each other.
      fixed.writeUInt16BE(100, 2);
      fixed.writeUInt16BE(record.port, 4);
      return Buffer.concat([fixed, encodeName(record.target)]);
    }
    case 'SOA': {
      const times = Buffer.alloc(20);
      for (const [index, seconds] of [1, 7_200, 1_800, 86_400, record.ttl].entries())
        times.writeUInt32BE(seconds, index * 4);
      return Buffer.concat([encodeName(record.server), encodeName(['hostmaster', ...record.name]), times]);
    }
  }
}

/** Throws for a name that DNS has no room for. */
export function encodeName(labels: readonly string[]): Buffer {
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, 'latin1');
    if (bytes.length === 0 || bytes.length > labelBytesMax) throw new RangeError('no label of a name');
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  });
  const name = Buffer.concat([...parts, Buffer.alloc(1)]);
  if (name.length > nameBytesMax) throw new RangeError('no name');
  return name;
}

/** Whether an answer from elsewhere is one to this question, as far as that can be told from outside. */
export function isAnswerTo(answer: Buffer, id: number, { questionBytes }: DnsQuery): boolean {
  if (answer.length < headerBytes || answer.readUInt16BE(0) !== id || !(answer[2]! & 0x80)) return false;
  const echoed = answer.subarray(headerBytes, headerBytes + questionBytes.length);
  // Servers that fail may leave the question out.
  if (answer.readUInt16BE(4) === 0) return (answer[3]! & 0xf) !== replyCodes.ok;
  return echoed.toString('latin1').toLowerCase() === questionBytes.toString('latin1').toLowerCase();
}
