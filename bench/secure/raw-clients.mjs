/**
 * Clients over TLS that cost little: bytes of requests that were made beforehand, and answers of which only the lengths are
 * read. So most of the processor is the server's, and its code is soon compiled.
 */
import { once } from 'node:events';
import { connect } from 'node:tls';

const headBytes = 9;
const [dataFrame, headersFrame, settingsFrame, goAwayFrame, windowFrame] = [0, 1, 4, 7, 8];
/** Flags of a frame: the stream ends, settings were taken, all headers are here. */
const [ends, taken, whole] = [1, 1, 4];
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const windowBytes = 0x3fff0000;

function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** An integer of HPACK, behind some bits. */
function integer(value, bits, before) {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.from([before | value]);
  const bytes = [before | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

const text = (value) => Buffer.concat([integer(Buffer.byteLength(value), 7, 0), Buffer.from(value)]);

/** Header blocks of a GET: the first adds its fields to the table of the connection, the others name them. */
function blocks(host, path, headers) {
  const fields = [
    [integer(1, 6, 0x40), host],
    [integer(4, 6, 0x40), path],
  ];
  for (const [name, value] of Object.entries(headers))
    fields.push([Buffer.concat([Buffer.from([0x40]), text(name)]), value]);
  const method = Buffer.from([0x82, 0x87]);
  return [
    Buffer.concat([method, ...fields.flatMap(([name, value]) => [name, text(value)])]),
    Buffer.concat([method, ...fields.map((_, i) => integer(61 + fields.length - i, 7, 0x80))]),
  ];
}

/** @param ask gives the next request and how to note an answer: `{ next(), done() }` */
function speakHttp2(socket, host, { path, headers = {}, streams }, ask) {
  const [first, others] = blocks(host, path, headers);
  let stream = 1;
  let rest = Buffer.alloc(0);
  const request = () => {
    const sent = frame(headersFrame, ends | whole, stream, stream === 1 ? first : others);
    stream += 2;
    return sent;
  };
  const window = Buffer.alloc(4);
  window.writeUInt32BE(windowBytes);
  socket.write(
    Buffer.concat([Buffer.from(preface), frame(settingsFrame, 0, 0), frame(windowFrame, 0, 0, window)]),
  );
  socket.on('data', (chunk) => {
    const data = Buffer.concat([rest, chunk]);
    const out = [];
    let at = 0;
    while (data.length - at >= headBytes) {
      const end = at + headBytes + data.readUIntBE(at, 3);
      if (end > data.length) break;
      const [type, flags] = [data[at + 3], data[at + 4]];
      if (type === goAwayFrame) throw new Error('the server closes the connection');
      if (type === settingsFrame && !(flags & taken)) out.push(frame(settingsFrame, taken, 0));
      if ((type === dataFrame || type === headersFrame) && flags & ends) {
        ask.done();
        if (ask.next()) out.push(request());
      }
      at = end;
    }
    rest = data.subarray(at);
    if (out.length) socket.write(Buffer.concat(out));
  });
  return () => {
    const out = [];
    for (let i = 0; i < streams && ask.next(); i++) out.push(request());
    socket.write(Buffer.concat(out));
  };
}

function speakHttp1(socket, host, { path, headers = {} }, ask) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`);
  let head = Buffer.alloc(0);
  let missing;
  socket.on('data', (chunk) => {
    if (missing === undefined) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const lines = head.toString('latin1', 0, end);
      if (!/^HTTP\/1\.1 2/.test(lines)) throw new Error(lines);
      missing = end + 4 + Number(/content-length: *(\d+)/i.exec(lines)[1]) - head.length;
      head = Buffer.alloc(0);
    } else missing -= chunk.length;
    if (missing > 0) return;
    missing = undefined;
    ask.done();
    if (ask.next()) socket.write(request);
  });
  return () => ask.next() && socket.write(request);
}

/** Opens connections: `send(count)` sends so many requests and waits for their answers. */
export async function rawClients(url, { protocol, tls, connections, ...asked }) {
  const { hostname, port, host } = new URL(url);
  let [left, unanswered, finish] = [0, 0];
  const ask = {
    next: () => left > 0 && left-- > 0,
    done: () => --unanswered === 0 && finish(),
  };
  const open = [];
  for (let i = 0; i < connections; i++) {
    const ALPNProtocols = [protocol === 'h2' ? 'h2' : 'http/1.1'];
    const socket = connect({ host: hostname, port: Number(port), ...tls, ALPNProtocols }).setNoDelay(true);
    await once(socket, 'secureConnect');
    open.push({ socket, begin: (protocol === 'h2' ? speakHttp2 : speakHttp1)(socket, host, asked, ask) });
  }
  return {
    send: (count) =>
      new Promise((resolve) => {
        [left, unanswered, finish] = [count, count, resolve];
        for (const { begin } of open) begin();
      }),
    end: () => {
      for (const { socket } of open) socket.destroy();
    },
  };
}
