/**
 * Header blocks, which may go on over several frames (RFC 9113, section 4.3). Until one is complete no other frame may
 * come, and its bytes are held: bounded for each block, and for all clients together.
 */
import type { FairShare } from '../../access/fairness/fair-share.ts';
import { ConnectionError, Reason } from '../../http2/frame-rules.ts';
import { headerListBytesMax } from './session-settings.ts';

/** Maximum number of frames over which headers may continue: empty ones take no room, and would never end. */
const framesMax = 128;
/** A block that is not longer counts with its connection alone. */
const freeBytes = 16 * 1024;
/** Time in which a block has to be complete. */
const restMaxMs = 30_000;

/** A block that goes on in the next frame. */
interface OpenBlock {
  readonly id: number;
  readonly ends: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

export class HeaderBlocks {
  #open: OpenBlock | undefined;
  #held = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param owner whose share it is, an address */
  constructor(
    private readonly share: FairShare,
    private readonly owner: string,
    private readonly late: () => void,
  ) {}

  /** The stream whose headers are not complete; undefined when all are. */
  get openId(): number | undefined {
    return this.#open?.id;
  }

  begin(id: number, ends: boolean, part: Buffer): void {
    this.#open = { id, ends, parts: [], bytes: 0 };
    this.#add(this.#open, part);
  }

  /** Takes the next part. Returns the whole block with the last one. */
  goOn(part: Buffer, isLast: boolean): { id: number; ends: boolean; block: Buffer } | undefined {
    const open = this.#open;
    if (!open) throw new ConnectionError(Reason.protocol, 'headers go on that were complete');
    this.#add(open, part);
    if (!isLast) return undefined;
    this.#open = undefined;
    this.rest();
    return { id: open.id, ends: open.ends, block: Buffer.concat(open.parts, open.bytes) };
  }

  #add(open: OpenBlock, part: Buffer): void {
    open.bytes += part.length;
    if (open.bytes > headerListBytesMax || open.parts.length === framesMax)
      throw new ConnectionError(Reason.calm, 'headers are too long');
    open.parts.push(part);
    this.hold(open.bytes);
  }

  /** Counts the bytes of a block, or of a frame, that is not complete. */
  hold(bytes: number): void {
    this.#timer ??= setTimeout(this.late, restMaxMs).unref();
    const more = bytes - freeBytes - this.#held;
    if (more <= 0) return;
    if (!this.share.take(this.owner, more))
      throw new ConnectionError(Reason.calm, 'too many headers are under way');
    this.#held += more;
  }

  /** What was awaited is complete, or will not come. */
  rest(): void {
    if (this.#open || !this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#held > 0) this.share.give(this.owner, this.#held);
    this.#held = 0;
  }

  drop(): void {
    this.#open = undefined;
    this.rest();
  }
}
