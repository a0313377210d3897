/** Admission webhooks that hang, redirect, never stop talking, or answer with what cannot be true. */
import { type HookBehaviour, HookHost } from '../../../src/extensions/calls/hook-host.fixture.ts';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';
import { Canary, hookWays } from '../hook-ways.ts';
import { until } from '../pods.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/attack/configmaps';
const costMaxMs = 2_500;

const patch = (...operations: object[]): HookBehaviour => ({ allowed: true, patch: operations });
const copies = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/data', path: `/data/c${i}` }));

/**
 * Answers that are well-formed, and that may be taken or not, but change nothing that they must not.
 * @param part of the greatest length that is tried
 */
const answersOf = (part: number): Readonly<Record<string, HookBehaviour>> => ({
  'a million warnings': {
    answer: (_request, response, review) => {
      const warnings = Array.from({ length: 600_000 * part }, () => 'w');
      const told = { uid: review.request.uid, allowed: true, warnings };
      const { kind, apiVersion } = review;
      response
        .setHeader('Content-Type', 'application/json')
        .end(JSON.stringify({ kind, apiVersion, response: told }));
    },
  },
  'a long warning': { allowed: true, warnings: ['\r\nX-Split: 1', 'x'.repeat(2_500_000 * part)] },
  'many annotations': {
    allowed: true,
    auditAnnotations: Object.fromEntries(
      Array.from({ length: 50_000 * part }, (_, i) => [`k${i}`, 'v'.repeat(20)]),
    ),
  },
  'a long refusal': { allowed: false, status: { code: 403, message: 'x'.repeat(2_500_000 * part) } },
  'a refusal with an odd code': { allowed: false, status: { code: 200, message: '\u0000\r\n' } },
  'copies of copies': patch({ op: 'add', path: '/data', value: { a: 'x'.repeat(100_000) } }, ...copies),
  'many operations': patch(
    ...Array.from({ length: 15_000 }, (_, i) => ({
      op: 'add',
      path: `/metadata/annotations/a${i}`,
      value: 'v',
    })),
  ),
  'another namespace': patch({ op: 'replace', path: '/metadata/namespace', value: 'stolen' }),
  'another kind': patch({ op: 'replace', path: '/kind', value: 'Secret' }),
  'a patch of a prototype': patch({ op: 'add', path: '/__proto__/polluted', value: 'yes' }),
  'deep values': patch({
    op: 'add',
    path: '/data',
    value: JSON.parse(`${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`),
  }),
  'another uid': { allowed: true, uid: 'other' },
});

const policies = ['Fail', 'Ignore'] as const;
const labels = [...policies, 'patient'] as const;

/** Calls of `patient` webhooks never end by their time, however busy the machine is. */
async function register(
  server: AttackedServer,
  host: HookHost,
  label: (typeof labels)[number],
): Promise<void> {
  for (const kind of ['mutating', 'validating'])
    await server.create(`${group}/${kind}webhookconfigurations`, {
      metadata: { name: `attack-${label.toLowerCase()}` },
      webhooks: [
        {
          name: `${kind}.attack.example`,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: label === 'patient' ? 'Fail' : label,
          timeoutSeconds: label === 'patient' ? 30 : 1,
          clientConfig: { url: `${host.url}/${kind}`, caBundle: host.ca },
          rules: [
            { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] },
          ],
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'attack' } },
          objectSelector: { matchLabels: { policy: label } },
        },
      ],
    });
}

export const attack: Attack = {
  name: 'admission webhooks',
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    const [host, canary] = [new HookHost(), new Canary()];
    await host.start();
    await canary.start();
    for (const label of labels) await register(server, host, label);
    const write = (policy: string) =>
      server.ask('tenant', `${configMaps}?dryRun=All`, {
        method: 'POST',
        body: { metadata: { name: 'attack', labels: { policy }, annotations: { a: 'b' } } },
      });
    const answers = answersOf(isShort ? 1 / 5 : 1);
    const broken = Object.entries(hookWays(canary.url, isShort));
    for (const [way, behaviour] of [...broken, ...Object.entries(answers)])
      for (const policy of policies) {
        // One that fails by its time is enough of a wait.
        if (isShort && policy === 'Ignore' && (way === 'hang' || way.includes('now and then'))) continue;
        host.hooks.set('/mutating', behaviour);
        host.hooks.set('/validating', behaviour.patch ? { allowed: true } : behaviour);
        const cpuMs = server.cpuMs;
        const { status, text } = await write(
          way.includes('warning') && policy === 'Fail' ? 'patient' : policy,
        );
        const cost = server.cpuMs - cpuMs;
        codes.push(status);
        const about = `${way} with policy ${policy}`;
        if (cost > costMaxMs) gotIn.push(`${about} costs ${Math.round(cost)} ms`);
        if (status === 0) gotIn.push(`${about} gets no answer: ${text}`);
        if (way in answers) {
          if (/stolen|"kind":"Secret"|polluted/.test(text) && status < 400) gotIn.push(`${about} is taken`);
          if (way.includes('warning') && status !== 201 && status !== 200)
            gotIn.push(`${about} is answered with ${status}`);
        } else if (policy === 'Fail' ? status !== 500 : status !== 201 && status !== 200)
          gotIn.push(`${about} is answered with ${status}: ${text.slice(0, 200)}`);
      }
    // More writes than there are seats wait for an answer that does not come.
    for (const kind of ['/mutating', '/validating']) host.hooks.set(kind, { answer: () => undefined });
    host.take();
    const waiting = Array.from({ length: isShort ? 8 : 600 }, () => write('Fail'));
    await until('the webhook is asked', async () => (host.calls.length >= 5 ? true : undefined));
    for (let i = 0; i < (isShort ? 5 : 50); i++) {
      const { status } = await server.ask('neighbour', '/api/v1/namespaces/default/configmaps?dryRun=All', {
        method: 'POST',
        body: { metadata: { name: 'quick' } },
      });
      if (status !== 201 && status !== 200) gotIn.push(`beside one that hangs, the neighbour gets ${status}`);
    }
    await host.close();
    for (const { status } of await Promise.all(waiting)) codes.push(status);
    if (canary.hits) gotIn.push(`${canary.hits} redirects were followed`);
    await canary.close();
    for (const label of labels)
      for (const kind of ['mutating', 'validating'])
        await server.remove(`${group}/${kind}webhookconfigurations/attack-${label.toLowerCase()}`);
    return { gotIn: [...new Set(gotIn)], says: codesText(codes) };
  },
};
