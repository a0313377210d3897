/** Where the events of a watch go: a response, a stream of HTTP/2, or a connection that watches share. */
import type { Notice, NoticeForm } from '../../registry/view/watch-event.ts';

/** Where lines or frames are written to. */
export interface Outlet {
  /** Returns false to apply back-pressure until onDrain. */
  write(lines: readonly Buffer[]): boolean;
  /** The same for notices in a form that does not depend on the watcher; outlets with the same ones share the bytes. */
  writeShared(notices: readonly Notice[], form: NoticeForm): boolean;
  end(): void;
}
