/** Proves that a terminal says what it is connected to. */
import { expect, it } from 'vitest';
import { shellFacts } from './shell-facts.ts';

const pod = (id: string, more: object = {}, status: object = {}): any => ({
  metadata: { name: 'web', uid: '1' },
  spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'web:1', ...more }] },
  status: { containerStatuses: [{ name: 'main', containerID: id, image: 'web:1', ...status }] },
});

it('tells processes from containers, and as whom they run', () => {
  expect(shellFacts(pod('process://1'), 'main')).toBe(
    'main is a process of the node n1, with its files and programs, image web:1, as the user of the node agent.',
  );
  expect(shellFacts(pod('containerd://1'), 'main')).toBe(
    'main is a container of containerd on the node n1, image web:1, as the user that the image names.',
  );
  const asked = { securityContext: { runAsUser: 1000 } };
  expect(shellFacts(pod('docker://1', asked), 'main')).toContain('as user 1000.');
  expect(shellFacts(pod('docker://1', asked, { user: { linux: { uid: 0 } } }), 'main')).toContain(
    'as root (user 0).',
  );
});

it('names the container beside which an ephemeral one runs', () => {
  const debugged = pod('process://1');
  debugged.spec.ephemeralContainers = [{ name: 'debug', image: 'host', targetContainerName: 'main' }];
  expect(shellFacts(debugged, 'debug')).toContain('beside the container main');
});
