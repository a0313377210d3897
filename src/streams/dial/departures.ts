/**
 * Clients who leave, and connections that end. A client can close hundreds of connections at once, and so does a pod that
 * ends; what each leads to, such as giving up a request or closing the other side, takes a part of a millisecond or some.
 */
import { TurnQueue } from '../../turn-queue.ts';

/** Few of them are worked off in one turn of the event loop; when many wait, a tenth. */
export const departures = new TurnQueue(4, 0.1);

/** Why a request is given up. Without a reason, `abort` makes an error with a stack for each. */
export const clientGone = new Error('context canceled');
