/** What `tails.mjs` lets happen beside its writes: 200 watchers, a table four times a second, metrics each second. */
import { Agent, get } from 'node:http';

const [, , url] = process.argv;
const pods = `${url}/api/v1/namespaces/default/pods`;
const watchers = 200;
const tableMs = 250;
const metricsMs = 1000;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const ask = (where, headers = {}) =>
  new Promise((resolve, reject) => {
    get(where, { agent, headers }, (answer) => resolve(answer.resume())).on('error', reject);
  });

const list = await (await fetch(`${pods}?limit=1`)).json();
for (let i = 0; i < watchers; i++)
  await ask(`${pods}?watch=true&resourceVersion=${list.metadata.resourceVersion}`);
setInterval(
  () => void ask(`${pods}?limit=1000`, { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }),
  tableMs,
);
setInterval(() => void ask(`${url}/metrics`), metricsMs);
process.on('disconnect', () => process.exit(0));
process.send('ready');
