/**
 * DNS messages: parses queries and encodes answers. Input is untrusted: compression pointers in names are
 * never followed, so parsing cannot loop.
 */

export const recordTypes = { A: 1, CNAME: 5, SOA: 6, PTR: 12, AAAA: 28, SRV: 33, OPT: 41, ANY: 255 } as const;
export const replyCodes = { ok: 0, malformed: 1, failed: 2, noName: 3, unknown: 4, refused: 5 } as const;

type ReplyCode = (typeof replyCodes)[keyof typeof replyCodes];

const headerBytes = 12;
const labelBytesMax = 63;
/** Maximum length of an encoded name, length bytes included. */
const nameBytesMax = 255;
const classInternet = 1;
const classAny = 255;
/** Maximum size of a UDP answer to clients without EDNS. */
const datagramBytesDefault = 512;
/** Larger datagrams may be fragmented; resolvers have agreed on this size. */
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
  /** The question as received: clients compare it with the answer's byte by byte, case included. */
  readonly questionBytes: Buffer;
  /** The size of UDP answers that the client accepts. */
  readonly datagramBytes: number;
  /** Whether the query has an EDNS record, so that the answer needs one, too. */
  readonly extended: boolean;
}

/** A malformed query that is answered with an error code. */
export interface BadQuery {
  readonly id: number;
  readonly code: ReplyCode;
}

export type DnsRecord = { readonly name: readonly string[]; readonly ttl: number } & (
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR'; readonly target: readonly string[] }
  | { readonly type: 'SRV'; readonly port: number; readonly target: readonly string[] }
  | { readonly type: 'SOA'; readonly server: readonly string[] }
);

export interface Reply {
  readonly code: ReplyCode;
  readonly answers?: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly additionals?: readonly DnsRecord[];
  /** Whether the name is in the cluster's domain (sets the authoritative bit). */
  readonly own: boolean;
}

/** Undefined for messages that must not be answered at all. */
export function parseQuery(bytes: Buffer): DnsQuery | BadQuery | undefined {
  if (bytes.length < headerBytes) return undefined;
  const flags = bytes.readUInt16BE(2);
  // Ignore responses: answering them could start an endless loop between two servers.
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

/** The UDP size from the query's EDNS record, if it has one. */
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

/** The encoded answer; truncated, with the TC bit set, when it exceeds `bytesMax`. */
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
  // A compression pointer to the question's name, which begins right behind the header.
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
    case 'PTR':
      return encodeName(record.target);
    case 'SRV': {
      const fixed = Buffer.alloc(6);
      // The same weight for all.
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

/** Throws for a name that is too long for DNS. */
export function encodeName(labels: readonly string[]): Buffer {
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, 'latin1');
    if (bytes.length === 0 || bytes.length > labelBytesMax) throw new RangeError('invalid DNS label length');
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  });
  const name = Buffer.concat([...parts, Buffer.alloc(1)]);
  if (name.length > nameBytesMax) throw new RangeError('DNS name too long');
  return name;
}

/** Whether an upstream's message matches this query: id, response bit and question. */
export function isAnswerTo(answer: Buffer, id: number, { questionBytes }: DnsQuery): boolean {
  if (answer.length < headerBytes || answer.readUInt16BE(0) !== id || !(answer[2]! & 0x80)) return false;
  const echoed = answer.subarray(headerBytes, headerBytes + questionBytes.length);
  // Servers may leave the question out of an error.
  if (answer.readUInt16BE(4) === 0) return (answer[3]! & 0xf) !== replyCodes.ok;
  return echoed.toString('latin1').toLowerCase() === questionBytes.toString('latin1').toLowerCase();
}
