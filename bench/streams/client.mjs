/**
 * A client of streams in a separate process: transfers bytes over a plain connection, an exec or a
 * port-forward, and reports the time. Started by `streams.mjs`, which it talks to over IPC. It uses Wherry's
 * own SPDY, from a bundle; data to send is framed beforehand, because the client itself is not measured.
 */
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { pathToFileURL } from 'node:url';

const { encodeDataHead, SpdyConnection, upgradeToSpdy } = await import(pathToFileURL(process.argv[2]).href);
const chunk = Buffer.alloc(64 * 1024);

async function dial(port) {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** All connections read into this buffer: received bytes are only counted. */
const memory = Buffer.allocUnsafeSlow(512 * 1024);
/** Shorter pieces are copied: among them are answers and control frames, which are parsed. */
const copiedBytesMax = 8 * 1024;

/** A connection whose reads cost the client as little as possible. */
async function dialCounting(port) {
  const take = (bytes) => {
    const piece = memory.subarray(0, bytes);
    if (bytes <= copiedBytesMax || !socket.readableFlowing) socket.push(Buffer.from(piece));
    else socket.emit('data', piece);
    return true;
  };
  const socket = new Socket({ allowHalfOpen: true, onread: { buffer: memory, callback: take } });
  socket.connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}

async function spdy({ url, path, protocol }) {
  const { host, port } = new URL(url);
  const answer = await upgradeToSpdy(() => dialCounting(Number(port)), {
    method: 'POST',
    path,
    headers: [['Host', host]],
    protocols: [protocol],
  });
  if (answer.refused) throw new Error(`${path}: ${answer.refused.body}`);
  const connection = new SpdyConnection(answer.socket, { role: 'client', head: answer.head });
  return { connection, socket: answer.socket };
}

/** Reads to the end; returns the number of bytes. */
async function drain(stream) {
  let bytes = 0;
  stream.on('data', (data) => {
    bytes += data.length;
  });
  if (!stream.readableEnded) await once(stream, 'end');
  return bytes;
}

async function fill(socket, bytes, framed = (piece) => piece) {
  const whole = framed(chunk);
  for (let left = bytes; left > 0; left -= chunk.length) {
    const piece = left < chunk.length ? framed(chunk.subarray(0, left)) : whole;
    if (!socket.write(piece)) await once(socket, 'drain');
  }
}

const framedFor =
  ({ id }) =>
  (piece) =>
    Buffer.concat([encodeDataHead(id, piece.length, false), piece]);

/** A connection that carries bytes both ways, plain or forwarded. */
async function forwarded(wish) {
  if (!wish.path) {
    const stream = await dial(wish.port);
    return { stream, send: (bytes) => fill(stream, bytes), close: () => undefined };
  }
  const { connection, socket } = await spdy({ ...wish, protocol: 'portforward.k8s.io' });
  const headers = { port: String(wish.port), requestID: '0' };
  (await connection.openStream({ ...headers, streamType: 'error' })).resume();
  const stream = await connection.openStream({ ...headers, streamType: 'data' });
  return {
    stream,
    send: (bytes) => fill(socket, bytes, framedFor(stream)),
    close: () => connection.close(),
  };
}

const ways = {
  /** From the pod, or from the yardstick. */
  async download(wish) {
    const { stream, close } = await forwarded(wish);
    stream.write(`zeros ${wish.bytes}\n`);
    const bytes = await drain(stream);
    stream.end();
    close();
    return bytes;
  },
  async upload(wish) {
    const { stream, send, close } = await forwarded(wish);
    stream.write('sink\n');
    const [answered] = await Promise.all([drain(stream), send(wish.bytes).then(() => stream.end())]);
    close();
    return answered === 'done'.length ? wish.bytes : 0;
  },
  async stdout(wish) {
    const { connection } = await spdy({ ...wish, protocol: 'v4.channel.k8s.io' });
    (await connection.openStream({ streamType: 'error' })).resume();
    const bytes = await drain(await connection.openStream({ streamType: 'stdout' }));
    connection.close();
    return bytes;
  },
  /** Resolves when the command has ended and its status has arrived. */
  async stdin(wish) {
    const { connection, socket } = await spdy({ ...wish, protocol: 'v4.channel.k8s.io' });
    const status = drain(await connection.openStream({ streamType: 'error' }));
    const stdin = await connection.openStream({ streamType: 'stdin' });
    stdin.resume();
    (await connection.openStream({ streamType: 'stdout' })).resume();
    await fill(socket, wish.bytes, framedFor(stdin));
    stdin.end();
    const told = await status;
    connection.close();
    return told > 0 ? wish.bytes : 0;
  },
};

process.on('message', async (wish) => {
  const begun = performance.now();
  try {
    const bytes = await ways[wish.way](wish);
    if (bytes !== wish.bytes) throw new Error(`${wish.way}: ${bytes} bytes instead of ${wish.bytes}`);
    process.send({ seconds: (performance.now() - begun) / 1000 });
  } catch (error) {
    process.send({ failure: error.message });
  }
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
