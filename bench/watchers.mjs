/**
 * Watchers in a separate process: opens many watches, counts the events each receives while another process
 * writes, and reports when each event arrived; then starts over. Started by `fanout.mjs`, which it talks to
 * over IPC.
 */
import { Agent, request } from 'node:http';

const [url, watcherCount, eventCount] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
const marker = Buffer.from('"n":"');
const nothing = () => Array.from({ length: eventCount }, () => []);
/** Arrival time of each change at each watcher, by number of the change. */
let arrivals = nothing();
let received = 0;

function open() {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/api/v1/namespaces/default/pods?watch=true&resourceVersion=${process.argv[5]}`,
      { agent },
    );
    sent.on('error', reject);
    sent.on('response', (response) => {
      let rest = Buffer.alloc(0);
      response.on('data', (chunk) => {
        const now = performance.timeOrigin + performance.now();
        const data = rest.length ? Buffer.concat([rest, chunk]) : chunk;
        let at = 0;
        for (let end = data.indexOf(10, at); end >= 0; end = data.indexOf(10, at)) {
          const found = data.indexOf(marker, at) + marker.length;
          const n = Number(data.toString('latin1', found, data.indexOf(34, found)));
          arrivals[n % eventCount].push(now);
          received++;
          at = end + 1;
        }
        rest = data.subarray(at);
        if (received === watcherCount * eventCount) finish();
      });
      resolve();
    });
    sent.end();
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
