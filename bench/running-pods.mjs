/** Running pods, as a client outside of the cluster sees them. */

/** Reads a watch line by line until `fits` returns true. */
async function read(response, fits) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) if (fits(line)) return;
  }
  throw new Error('the watch has ended');
}

const nameIn = (line) => /"name":"([^"]+)"/.exec(line)[1];

async function post(url, body) {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.arrayBuffer();
}

/** Opens a watch of the pods, creates some, and returns after how many seconds all were bound and all ran. */
export async function timed(url, count, make) {
  const watching = new AbortController();
  const path = `${url}/api/v1/namespaces/default/pods?watch=true&resourceVersion=0`;
  const response = await fetch(path, { signal: watching.signal });
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1000;
  const made = make();
  const bound = new Set();
  const running = new Set();
  let boundSeconds;
  await read(response, (line) => {
    if (line.includes('"nodeName":"')) bound.add(nameIn(line));
    if (line.includes('"phase":"Running"')) running.add(nameIn(line));
    if (bound.size === count) boundSeconds ??= seconds();
    return running.size === count;
  });
  const runningSeconds = seconds();
  await made;
  watching.abort();
  return { boundSeconds, runningSeconds };
}

/** A replication controller creates pods that only run on simulated nodes. */
export const replicate = (url, count) =>
  timed(url, count, () => {
    const template = {
      metadata: { labels: { app: 'many' } },
      spec: { containers: [{ name: 'c', image: 'example.com/web:1', ports: [{ containerPort: 80 }] }] },
    };
    return post(`${url}/api/v1/namespaces/default/replicationcontrollers`, {
      metadata: { name: 'many' },
      spec: { replicas: count, selector: { app: 'many' }, template },
    });
  });

/** Runs commands of this machine as pods. */
export const runPods = (url, pods) =>
  timed(url, pods.length, () =>
    Promise.all(
      pods.map(({ name, command }) =>
        post(`${url}/api/v1/namespaces/default/pods`, {
          metadata: { name },
          spec: {
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 0,
            containers: [{ name: 'c', image: 'host', command }],
          },
        }),
      ),
    ),
  );

/** Resolves when this many nodes are ready. */
export async function nodesReady(url, count) {
  const watching = new AbortController();
  const response = await fetch(`${url}/api/v1/nodes?watch=true&resourceVersion=0`, {
    signal: watching.signal,
  });
  const ready = new Set();
  await read(response, (line) => {
    if (line.includes('"type":"Ready","status":"True"') && !line.includes('"taints"'))
      ready.add(nameIn(line));
    return ready.size === count;
  });
  watching.abort();
}
