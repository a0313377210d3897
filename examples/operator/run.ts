/** Deploys the webhook to the cluster of the current kubeconfig and runs the operator until it is interrupted. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { deploy, webhookHost } from './deployment.ts';
import { WebsiteOperator } from './operator.ts';

const namespace = 'default';
const port = 9443;

/** A certificate that is its own authority, made by openssl. */
function certificate(host: string): { cert: string; key: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'operator-'));
  const file = (name: string): string => path.join(folder, name);
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const files = ['-keyout', file('key.pem'), '-out', file('cert.pem')];
  try {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', ...names, ...files],
      {
        stdio: 'ignore',
      },
    );
    return { cert: readFileSync(file('cert.pem'), 'utf8'), key: readFileSync(file('key.pem'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param code the program of the webhook, as JavaScript */
export async function run(code: string): Promise<void> {
  const config = new KubeConfig();
  config.loadFromDefault();
  const { cert, key } = certificate(webhookHost(namespace));
  await deploy(config, namespace, { code, cert, key, ca: cert, port });
  const operator = new WebsiteOperator(config);
  await operator.start();
  console.log('the operator runs; try: kubectl apply -f examples/operator/site.yaml');
  process.once('SIGINT', () => void operator.stop());
}
