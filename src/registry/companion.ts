/** Companions: objects that are written and removed with another one, such as the IPAddress of a service. */
import type { Lock } from '../store/store.ts';
import type { Place } from './target.ts';

export interface Companion {
  /** Writes the companions of the object at this place. Called in the same tick in which the object is written. */
  write(place: Place, locks: readonly Lock[] | undefined): Promise<void>;
  /** Called when the write of the object has ended. */
  settled(place: Place, stored: boolean): Promise<void>;
}
