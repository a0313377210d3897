/**
 * The tables of HPACK (RFC 7541): headers that every connection knows by a number, and those that one side of a
 * connection has added, the newest first.
 */

/** Size of the table of added headers at the beginning of a connection. We never allow a larger one. */
export const TABLE_BYTES_MAX = 4096;
const ENTRY_OVERHEAD = 32;
/** The table cannot hold more entries, because each counts with its overhead. */
const ENTRIES_MAX = TABLE_BYTES_MAX / ENTRY_OVERHEAD;

/** One header, as it was sent. An entry of a table is one object, whichever blocks refer to it. */
export class Field {
  /** What a reader of headers has found out about it, kept for the next block that refers to it; 0: nothing yet. */
  rule = 0;

  constructor(
    readonly name: string,
    readonly value: string,
  ) {}

  /** Size as the RFC counts it. */
  get bytes(): number {
    return this.name.length + this.value.length + ENTRY_OVERHEAD;
  }
}

/** The static table, from index 1 on. */
const known: readonly Field[] = [
  new Field(':authority', ''),
  new Field(':method', 'GET'),
  new Field(':method', 'POST'),
  new Field(':path', '/'),
  new Field(':path', '/index.html'),
  new Field(':scheme', 'http'),
  new Field(':scheme', 'https'),
  ...['200', '204', '206', '304', '400', '404', '500'].map((status) => new Field(':status', status)),
  new Field('accept-charset', ''),
  new Field('accept-encoding', 'gzip, deflate'),
  ...`accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control
    content-disposition content-encoding content-language content-length content-location content-range content-type
    cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since
    last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after
    server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate`
    .split(/\s+/)
    .map((name) => new Field(name, '')),
];

/** The index of the first header that a connection has added. */
export const FIRST_ADDED = known.length + 1;

/** The first index of a name in the static table; 0 when it is not there. */
export const staticIndex = (name: string): number => known.findIndex((field) => field.name === name) + 1;

/** The index of a header in the static table; 0 when it is not there. */
export const staticPair = (name: string, value: string): number =>
  known.findIndex((field) => field.name === name && field.value === value) + 1;

/** The headers that one side has added, with those that all connections know. */
export class FieldTable {
  readonly #ring: (Field | undefined)[] = new Array(ENTRIES_MAX).fill(undefined);
  /** Place of the newest. */
  #newest = 0;
  #count = 0;
  #bytes = 0;
  #bytesMax = TABLE_BYTES_MAX;
  /** Grows with each change. */
  changes = 0;

  /** The header of an index; undefined when the index names nothing. */
  at(index: number): Field | undefined {
    if (index < FIRST_ADDED) return known[index - 1];
    const place = index - FIRST_ADDED;
    return place < this.#count ? this.#ring[(this.#newest + place) % ENTRIES_MAX] : undefined;
  }

  add(field: Field): void {
    this.changes++;
    this.#evict(this.#bytesMax - field.bytes);
    // One that is larger than the table leaves it empty, which is no error.
    if (field.bytes > this.#bytesMax) return;
    this.#newest = (this.#newest + ENTRIES_MAX - 1) % ENTRIES_MAX;
    this.#ring[this.#newest] = field;
    this.#count++;
    this.#bytes += field.bytes;
  }

  resize(bytesMax: number): void {
    this.changes++;
    this.#bytesMax = bytesMax;
    this.#evict(bytesMax);
  }

  /** Takes the oldest away until the others have at most this size. */
  #evict(bytesMax: number): void {
    while (this.#bytes > bytesMax && this.#count > 0) {
      const oldest = (this.#newest + --this.#count) % ENTRIES_MAX;
      this.#bytes -= this.#ring[oldest]!.bytes;
      this.#ring[oldest] = undefined;
    }
  }
}
