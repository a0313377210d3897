/**
 * Time zones of the IANA database, as the JavaScript runtime knows them: the offset of local time from UTC, and when
 * it changes.
 */

/** Cached zones; there are about 600 names. */
const zonesMax = 1024;
const minuteMs = 60_000;

/** A time span with a constant offset from UTC. */
export interface Span {
  readonly offsetMs: number;
  readonly fromMs: number;
  /** The end of the span (exclusive). */
  readonly toMs: number;
}

const zones = new Map<string, TimeZone>();
let officialNames: ReadonlyMap<string, string> | undefined;

export class TimeZone {
  /** The spans used last, cached because the next call is usually about the same days, and the runtime is slow. */
  #recent: readonly Span[] = [];

  private constructor(
    readonly name: string,
    private readonly format: Intl.DateTimeFormat,
  ) {}

  /** Finds a zone; undefined when it does not exist. */
  static find(name: string): TimeZone | undefined {
    const known = zones.get(name);
    if (known) return known;
    const format = formatFor(name);
    if (!format) return undefined;
    const zone = new TimeZone(name, format);
    zones.set(name, zone);
    if (zones.size > zonesMax) zones.delete(zones.keys().next().value!);
    return zone;
  }

  /** The offset to add to a UTC time to get local time. */
  offsetMs(atMs: number): number {
    for (const { offsetMs, fromMs, toMs } of this.#recent) if (atMs >= fromMs && atMs < toMs) return offsetMs;
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.format.formatToParts(atMs)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    const localMs = Date.UTC(year, month - 1, day, hour, minute, second);
    return localMs - Math.floor(atMs / 1000) * 1000;
  }

  /** The spans between two moments that are close enough for at most one change of offset. */
  spans(fromMs: number, toMs: number): readonly Span[] {
    const recent = this.#recent;
    if (recent[0]?.fromMs === fromMs && recent.at(-1)!.toMs === toMs) return recent;
    this.#recent = this.#spans(fromMs, toMs);
    return this.#recent;
  }

  #spans(fromMs: number, toMs: number): Span[] {
    const before = this.offsetMs(fromMs);
    const after = this.offsetMs(toMs);
    if (before === after) return [{ offsetMs: before, fromMs, toMs }];
    // Binary search: the change is at a whole minute above `low` and not above `high`.
    let low = Math.floor(fromMs / minuteMs);
    let high = Math.ceil(toMs / minuteMs);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetMs(middle * minuteMs) === before) low = middle;
      else high = middle;
    }
    const changeMs = high * minuteMs;
    return [
      { offsetMs: before, fromMs, toMs: changeMs },
      { offsetMs: after, fromMs: changeMs, toMs },
    ];
  }

  /** A moment in RFC 3339, in local time: `2024-07-01T09:30:00+02:00`. */
  text(atMs: number): string {
    const offsetMs = this.offsetMs(atMs);
    const local = new Date(atMs + offsetMs).toISOString().slice(0, 19);
    if (offsetMs === 0) return `${local}Z`;
    const minutes = Math.abs(Math.trunc(offsetMs / minuteMs));
    const two = (number: number): string => String(number).padStart(2, '0');
    return `${local}${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  }
}

function formatFor(timeZone: string): Intl.DateTimeFormat | undefined {
  // The runtime also accepts offsets and any case; the database has exact names only.
  officialNames ??= new Map(Intl.supportedValuesOf('timeZone').map((name) => [name.toLowerCase(), name]));
  const official = officialNames.get(timeZone.toLowerCase()) ?? timeZone;
  if (official !== timeZone || !/^[A-Za-z]/.test(timeZone)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
