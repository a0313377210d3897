/**
 * A connection of watches: one WebSocket on which a client starts and ends many watches, so that a browser needs one
 * connection for all of them (docs/dashboard.md has the messages). Each watch is a request of its own, which takes the
 * chain as any other, with the user of the connection.
 *
 *   open ──(the client leaves, the server closes, its time is over, too many invalid messages)──► ended, with all watches
 */
import type { WebSocket } from 'ws';
import { badRequest, StatusError, unauthorized } from '../../api/errors/errors.ts';
import type { User } from '../../api/values/user.ts';
import { ClientGone } from '../../streams/dial/tunnel.ts';
import { negotiateWebSocket } from '../../streams/dial/upgrade-request.ts';
import { acceptWebSocket, webSocketRefusal } from '../../streams/websocket/websocket-upgrade.ts';
import type { RequestContext } from '../http/context.ts';
import type { Door } from '../http/door.ts';
import { parseRequest } from '../http/request-info.ts';
import { WatchRequest } from '../wire/watch-request.ts';
import { isStill } from './credential-watch.ts';
import { WatchAnswer, type WatchCarrier } from './watch-answer.ts';
import { acceptOf, pathOf, readWatchMessage, type WatchMessage } from './watch-message.ts';
import { lifetimeMs, socketBufferBytes, type Watching } from './watching.ts';

/** The subprotocol; a client that sends a token as another one has to name it. */
const watchesProtocol = 'v1.watches.wherry';
/** Maximum number of open watches. */
const watchesMax = 256;
const messageBytesMax = 32 * 1024;
/** Invalid messages before the connection is closed. */
const invalidMax = 16;
/** With this many bytes unsent, no further messages are read: the client does not read the answers. */
const unsentBytesMax = 1024 * 1024;
/** WebSocket close codes. */
const normalClosure = 1000;
const policyViolation = 1008;

export async function serveWatches(watching: Watching, context: RequestContext): Promise<void> {
  const { request } = context.http;
  const { socket, head } = context.upgrade!;
  const invalid = webSocketRefusal(request);
  if (invalid) throw badRequest(invalid.text);
  const negotiated = negotiateWebSocket(request, [watchesProtocol, '']);
  if (negotiated.refusal) throw badRequest(`the subprotocol of this path is ${watchesProtocol}`);
  const bounds = { messageBytesMax };
  const webSocket = acceptWebSocket(request, socket, head, negotiated.protocol, bounds);
  if (!webSocket) throw new ClientGone();
  const connection = new WatchConnection(watching, context, webSocket);
  watching.streams.add(connection);
  const forget = watching.credentials.watch(context, () => connection.end());
  await connection.ended;
  forget();
  watching.streams.delete(connection);
}

class WatchConnection implements WatchCarrier {
  readonly ended: Promise<void>;
  readonly #watches = new Map<string, WatchAnswer>();
  /** Callbacks of watches that wait for the socket to have room, in the order in which they began to wait. */
  readonly #waiting = new Set<() => void>();
  readonly #door: Door;
  #invalid = 0;

  constructor(
    private readonly watching: Watching,
    private readonly context: RequestContext,
    private readonly webSocket: WebSocket,
  ) {
    this.#door = doorFor(context);
    // The user was authenticated when the connection began, so the connection ends when a watch would.
    const timer = setTimeout(() => this.end(), lifetimeMs(watching));
    this.ended = new Promise((resolve) => {
      webSocket.once('close', () => {
        clearTimeout(timer);
        this.#leaveAll();
        resolve();
      });
    });
    webSocket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary));
  }

  /** Ends all watches, then the connection. Safe to call twice. */
  end(): void {
    this.#leaveAll();
    this.webSocket.close(normalClosure);
  }

  #leaveAll(): void {
    this.#waiting.clear();
    for (const watch of this.#watches.values()) watch.leave();
  }

  #take(data: Buffer, isBinary: boolean): void {
    const { webSocket } = this;
    if (webSocket.readyState !== webSocket.OPEN) return;
    let message: WatchMessage;
    try {
      if (isBinary) throw badRequest('messages are text');
      message = readWatchMessage(data.toString('utf8'));
      if (message.does === 'start' && this.#watches.has(message.id))
        throw badRequest(`the watch ${message.id} is open already`);
    } catch (error) {
      return this.#refuseMessage(error as StatusError);
    }
    if (message.does === 'start') this.#start(message);
    // The watch may have ended by itself: the two messages may cross.
    else this.#watches.get(message.id)?.leave();
    if (webSocket.bufferedAmount >= unsentBytesMax) webSocket.pause();
  }

  #refuseMessage({ status }: StatusError): void {
    this.tell({ type: 'ERROR', object: status });
    if (++this.#invalid >= invalidMax) this.webSocket.close(policyViolation, 'too many invalid messages');
  }

  #start(message: WatchMessage): void {
    const { id } = message;
    let request: WatchRequest;
    try {
      if (this.#watches.size >= watchesMax)
        throw new StatusError(
          429,
          'TooManyRequests',
          `this connection has ${watchesMax} watches open, which is the most it may have`,
          { retryAfterSeconds: 1 },
        );
      const path = pathOf(message);
      if (parseRequest('GET', path).lasting !== 'watch')
        throw badRequest('only watches can be started here: the path of a collection with watch=true');
      request = new WatchRequest(path, acceptOf(message), this.context.http.request);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return this.tell({ id, type: 'REFUSED', object: error.status });
    }
    const watch = new WatchAnswer(id, this, () => this.#watches.delete(id));
    this.#watches.set(id, watch);
    this.watching.begin(this.#door, request, watch, performance.now());
  }

  tell(message: object): void {
    this.webSocket.send(JSON.stringify(message), this.#sent);
  }

  /** Sends each event as a message of two fragments, because the bytes of the second are shared by all watchers. */
  events(start: Buffer, lines: readonly Buffer[], onDrain: () => void): boolean {
    const { webSocket } = this;
    const { socket } = this.context.upgrade!;
    // Corked: one system call for all of them.
    socket.cork();
    for (const [i, line] of lines.entries()) {
      webSocket.send(start, { binary: false, fin: false });
      const isLast = i === lines.length - 1;
      webSocket.send(line.subarray(1), { binary: false, fin: true }, isLast ? this.#sent : undefined);
    }
    socket.uncork();
    if (webSocket.bufferedAmount < socketBufferBytes) return true;
    this.#waiting.add(onDrain);
    return false;
  }

  /** Called when a message has been sent, or has failed. */
  readonly #sent = (): void => {
    const { webSocket } = this;
    if (webSocket.isPaused && webSocket.bufferedAmount < socketBufferBytes) webSocket.resume();
    for (const onDrain of this.#waiting) {
      if (webSocket.bufferedAmount >= socketBufferBytes) return;
      this.#waiting.delete(onDrain);
      onDrain();
    }
  };
}

/**
 * Authenticates the user of a connection again; throws unless the credential is valid and still belongs to the same
 * user.
 * @param owner whose credential it is: the user, or the one who impersonates the user
 */
async function identifiedAgain(again: () => User | Promise<User>, owner: User, user: User): Promise<User> {
  if (!(await isStill(again, owner))) throw unauthorized();
  return user;
}

/** A door for the requests of the connection's watches: like the connection's own, but the user is known already. */
function doorFor({ door, user, impersonator, identifyAgain }: RequestContext): Door {
  return {
    url: door.url,
    unidentified: door.unidentified,
    fairness: door.fairness,
    authorizer: door.authorizer,
    listen: (reception) => door.listen(reception),
    admit: () => undefined,
    identify: (context) => {
      context.impersonator = impersonator;
      // The account may have been deleted, or the token expired, since the connection began.
      return identifyAgain ? identifiedAgain(identifyAgain, impersonator?.user ?? user, user) : user;
    },
    shut: () => door.shut(),
    close: () => door.close(),
  };
}
