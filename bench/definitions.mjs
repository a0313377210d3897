/**
 * `node bench/definitions.mjs [COUNT]`: so many definitions of custom kinds, as a large platform brings them, applied one
 * after the other: processor time and memory of the server. Then how long discovery and OpenAPI take after one more
 * definition each. Needs Linux, for `/proc`.
 */
import { wherry } from './servers.mjs';

const count = Number(process.argv[2] ?? 650);
const groups = 65;
const changes = 10;

/** A schema of about 20 KB, of the shape that generators write: nested objects with descriptions. */
function schemaOf(depth, width) {
  const properties = {};
  for (let i = 0; i < width; i++) {
    const description = `Field ${i} at depth ${depth} says what the resource at the provider should be like.`;
    properties[`field${i}`] =
      depth > 0 && i % 3 === 0
        ? { type: 'object', description, properties: schemaOf(depth - 1, width).properties }
        : i % 3 === 1
          ? { type: 'array', description, items: { type: 'string', maxLength: 64 } }
          : { type: 'string', description, pattern: '^[a-z0-9-]*$' };
  }
  return { type: 'object', properties };
}

const spec = schemaOf(2, 9);

function definition(i) {
  const group = `g${i % groups}.platform.example.com`;
  const plural = `things${i}`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, singular: `thing${i}`, kind: `Thing${i}`, listKind: `Thing${i}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          },
        },
      ],
    },
  };
}

const server = await wherry('lmdb');
const definitions = `${server.url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;

async function define(i) {
  const answer = await fetch(definitions, { method: 'POST', body: JSON.stringify(definition(i)) });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.arrayBuffer();
}

async function answerMs(path, accept = 'application/json') {
  const begun = performance.now();
  const answer = await fetch(server.url + path, { headers: { Accept: accept } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  await answer.arrayBuffer();
  return performance.now() - begun;
}

const say = (figure, value, unit) =>
  console.log(`${figure.padEnd(60)} ${value.toFixed(1).padStart(8)} ${unit}`);
const median = (figures) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

const bytes = JSON.stringify(definition(0)).length;
const [beforeMs, beforeMB] = [server.processorMs, server.residentMB];
for (let i = 0; i < count; i++) await define(i);
await new Promise((resolve) => setTimeout(resolve, 3000));
say(
  `${count} definitions of ${(bytes / 1024).toFixed(0)} KB, processor`,
  (server.processorMs - beforeMs) / 1000,
  's',
);
say('resident growth', server.residentMB - beforeMB, 'MB');
const documents = {
  'discovery of all groups': [
    '/apis',
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  ],
  'OpenAPI v3 of its group': ['/openapi/v3/apis/g0.platform.example.com/v1'],
  'OpenAPI v2': ['/openapi/v2'],
};
const took = Object.fromEntries(Object.keys(documents).map((name) => [name, { ms: [], processor: [] }]));
for (let i = 0; i < changes; i++) {
  await define(count + i * groups);
  for (const [name, [path, accept]] of Object.entries(documents)) {
    const before = server.processorMs;
    took[name].ms.push(await answerMs(path, accept));
    took[name].processor.push(server.processorMs - before);
  }
}
for (const [name, { ms, processor }] of Object.entries(took)) {
  say(`${name} after a change`, median(ms), 'ms');
  say(`${name} after a change, processor`, median(processor), 'ms');
}
say('resident growth with documents', server.residentMB - beforeMB, 'MB');
await server.close();
