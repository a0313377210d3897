/**
 * Outlets: where the events of a watch are written to: a response, a stream of HTTP/2, or a shared connection of
 * watches.
 */
import type { Notice, NoticeForm } from '../../registry/view/watch-event.ts';

/** Takes lines or frames of a watch. */
export interface Outlet {
  /** Writes lines. Returns false to apply back-pressure until onDrain. */
  write(lines: readonly Buffer[]): boolean;
  /** The same for notices in a form that does not depend on the watcher; outlets with the same ones share the bytes. */
  writeShared(notices: readonly Notice[], form: NoticeForm): boolean;
  end(): void;
}

const alone = ([line]: readonly Buffer[]): Buffer => line!;

/** A line for each notice, for outlets that send each by itself. */
export const sharedLines = (notices: readonly Notice[], form: NoticeForm): Buffer[] =>
  notices.map((notice) => notice.bytesWith([notice], form, alone));
