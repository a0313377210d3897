/** The objects that are measured with: pods of about 1.5 KB as they come back from the server. */
const annotation = 'x'.repeat(300);

export const podNamed = (name, index) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    labels: { app: 'web', group: `g${index % 10}` },
    annotations: { 'example.com/note': annotation },
  },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: 'web', image: 'example.com/web:1', ports: [{ containerPort: 80 }] }],
  },
});

/** Creates objects, many at a time, in a namespace that is made if there is none. */
export async function fill(url, count, { namespace = 'default', prefix = 'pod', width = 64 } = {}) {
  await fetch(`${url}/api/v1/namespaces`, {
    method: 'POST',
    body: JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: namespace } }),
  }).then((answer) => answer.arrayBuffer());
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      const answer = await fetch(`${url}/api/v1/namespaces/${namespace}/pods`, {
        method: 'POST',
        body: JSON.stringify(podNamed(`${prefix}-${String(index).padStart(6, '0')}`, index)),
      });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}
