/**
 * Watchers in a separate process: opens many watches, counts the events each receives while another process
 * writes, and reports when each event arrived; then starts over. Started by `fan-out.mjs`, which it talks to
 * over IPC. Events are lines of JSON, or frames of protobuf with their length in four bytes.
 */
import { Agent, request } from 'node:http';
import { connect } from 'node:http2';

const [url, watcherCount, eventCount] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
/** Over HTTP/2, with these options of TLS. */
const tls = JSON.parse(process.env.WATCH_TLS ?? 'null');
/** As many as a session may have at a time. */
const streamsMax = 100;
/** The windows of Go's client, and so of kubectl and controllers; those of Node's would bound what is measured. */
const windows = { stream: 4 * 1024 * 1024, session: 1024 * 1024 * 1024 };
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
const protobuf = process.argv[6] === 'protobuf';
const accept = protobuf ? 'application/vnd.kubernetes.protobuf' : 'application/json';
/** What stands before the number: in protobuf, the key of a map entry and the tag of its value. */
const marker = protobuf ? Buffer.from('\x0a\x01n\x12') : Buffer.from('"n":"');

/** Where the event ends that begins at a position; -1 when it is not there yet. */
function eventEnd(data, at) {
  if (!protobuf) return data.indexOf(10, at);
  const end = data.length - at < 4 ? Number.POSITIVE_INFINITY : at + 3 + data.readUInt32BE(at);
  return end < data.length ? end : -1;
}

/** The number in the annotation of the event that begins at a position. */
function numberAt(data, at) {
  const found = data.indexOf(marker, at) + marker.length;
  if (!protobuf) return Number(data.toString('latin1', found, data.indexOf(34, found)));
  return Number(data.toString('latin1', found + 1, found + 1 + data[found]));
}

const nothing = () => Array.from({ length: eventCount }, () => []);
/** Arrival time of each change at each watcher, by number of the change. */
let arrivals = nothing();
let received = 0;

const path = `/api/v1/namespaces/default/pods?watch=true&resourceVersion=${process.argv[5]}`;
const sessions = [];

/** Sends the request of a watcher: a stream of events, and the event that says that it was answered. */
function sent(index) {
  if (!tls) return request(url + path, { agent, headers: { Accept: accept } });
  const session = (sessions[Math.floor(index / streamsMax)] ??= connected());
  return session.request({ ':path': path, accept });
}

function connected() {
  const session = connect(url, { ...tls, settings: { initialWindowSize: windows.stream } });
  session.once('connect', () => session.setLocalWindowSize(windows.session));
  return session;
}

/** Counts the events of an answer. */
function count(response) {
  let rest = Buffer.alloc(0);
  response.on('data', (chunk) => {
    const now = performance.timeOrigin + performance.now();
    const data = rest.length ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    for (let end = eventEnd(data, at); end >= 0; end = eventEnd(data, at)) {
      arrivals[numberAt(data, at) % eventCount].push(now);
      received++;
      at = end + 1;
    }
    rest = data.subarray(at);
    if (received === watcherCount * eventCount) finish();
  });
}

function open(_, index) {
  return new Promise((resolve, reject) => {
    const asked = sent(index).on('error', reject);
    asked.on('response', (response) => {
      count(tls ? asked : response);
      resolve();
    });
    asked.end();
  });
}

function finish() {
  process.send({ arrivals, received });
  arrivals = nothing();
  received = 0;
}

await Promise.all(Array.from({ length: watcherCount }, open));
process.send({ ready: true });
process.on('disconnect', () => process.exit(0));
