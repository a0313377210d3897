/** Proves what each check of the pod security standards refuses, in which words, and from which version on. */
import { describe, expect, it } from 'vitest';
import type { ObjectMeta, PodSpec } from '../../generated/types.ts';
import type { Level } from './policy.ts';
import { violations, violationsText } from './standard.ts';

const told = (
  level: Level,
  spec: PodSpec,
  { version = 'latest', annotations }: { version?: string; annotations?: ObjectMeta['annotations'] } = {},
): string => violationsText(violations({ level, version }, { annotations }, spec));

/** A pod that the restricted level allows, with changes. */
const strict = (container: object = {}, pod: object = {}): PodSpec => ({
  containers: [
    {
      name: 'c',
      securityContext: {
        allowPrivilegeEscalation: false,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
        ...container,
      },
    },
  ],
  ...pod,
});

describe('levels', () => {
  it('ask for nothing, for the usual, for the least', () => {
    const bad: PodSpec = { hostPID: true, containers: [{ name: 'c' }] };
    expect(told('privileged', bad)).toBe('');
    expect(told('baseline', bad)).toBe('host namespaces (hostPID=true)');
    expect(told('baseline', { containers: [{ name: 'c' }] })).toBe('');
    expect(told('restricted', strict())).toBe('');
    expect(told('restricted', bad)).toContain('host namespaces (hostPID=true), allowPrivilegeEscalation');
  });

  it('look at containers of all sorts, in order', () => {
    const privileged = { securityContext: { privileged: true } };
    expect(
      told('baseline', {
        containers: [{ name: 'b', ...privileged }],
        initContainers: [{ name: 'a', ...privileged }],
        ephemeralContainers: [{ name: 'e', ...privileged }],
      }),
    ).toBe('privileged (containers "a", "b", "e" must not set securityContext.privileged=true)');
  });
});

describe('baseline', () => {
  const prefix = 'container.apparmor.security.beta.kubernetes.io/';
  const cases: [string, PodSpec, string][] = [
    [
      'AppArmor of the pod',
      { securityContext: { appArmorProfile: { type: 'Unconfined' } } },
      'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'host ports',
      { containers: [{ name: 'c', ports: [{ hostPort: 9 }, { hostPort: 10 }, { containerPort: 1 }] }] },
      'hostPort (container "c" uses hostPorts 10, 9)',
    ],
    [
      'hosts of probes and hooks',
      {
        containers: [
          { name: 'd', lifecycle: { preStop: { tcpSocket: { host: 'b', port: 1 } } } },
          { name: 'c', startupProbe: { httpGet: { host: 'a', port: 1 } } },
          { name: 'e', livenessProbe: { httpGet: { port: 1 } } },
        ],
      },
      'probe or lifecycle host (containers "c", "d" use probe or lifecycle hosts "a", "b")',
    ],
    [
      'proc mounts',
      { containers: [{ name: 'c', securityContext: { procMount: 'Unmasked' } }] },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'SELinux users',
      { securityContext: { seLinuxOptions: { user: 'u', type: 'container_engine_t' } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)',
    ],
    [
      'sysctls, in their order',
      {
        securityContext: {
          sysctls: [
            { name: 'net.core.somaxconn', value: '1' },
            { name: 'kernel.msgmax', value: '1' },
          ],
        },
      },
      'forbidden sysctls (net.core.somaxconn, kernel.msgmax)',
    ],
    [
      'host processes of Windows',
      {
        securityContext: { windowsOptions: { hostProcess: true } },
        containers: [{ name: 'c', securityContext: { windowsOptions: { hostProcess: true } } }],
      },
      'hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ];
  it.each(cases)('%s', (_, spec, text) => expect(told('baseline', spec)).toBe(text));

  it('AppArmor by annotations', () => {
    const annotations = {
      [`${prefix}a`]: 'unconfined',
      [`${prefix}b`]: 'runtime/default',
      [`${prefix}c`]: '',
    };
    expect(told('baseline', {}, { annotations })).toBe(
      `forbidden AppArmor profile (annotation must not set AppArmor profile type to "${prefix}a="unconfined"")`,
    );
  });

  it('seccomp by annotations, before there were fields', () => {
    const annotations = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' };
    const fields: PodSpec = { securityContext: { seccompProfile: { type: 'Unconfined' } } };
    expect(told('baseline', fields, { version: 'v1.18', annotations })).toBe(
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    );
    expect(told('baseline', fields, { version: 'v1.19', annotations })).toBe(
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    );
  });
});

describe('restricted', () => {
  it('wants users that are not root, of the pod or of each container', () => {
    const unset = { runAsNonRoot: undefined };
    expect(told('restricted', strict(unset))).toBe(
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    );
    expect(told('restricted', strict(unset, { securityContext: { runAsNonRoot: true } }))).toBe('');
    expect(told('restricted', strict({}, { securityContext: { runAsNonRoot: false } }))).toBe(
      'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
    );
  });

  it('counts only ALL, in capitals, as dropping all capabilities', () => {
    expect(told('restricted', strict({ capabilities: { drop: ['all'], add: ['CHOWN'] } }))).toBe(
      'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    );
  });

  it('allows volumes that cannot reach beyond the pod', () => {
    const volumes = [
      { name: 'a', nfs: { server: 's', path: '/' } },
      { name: 'b', emptyDir: {} },
    ];
    expect(told('restricted', strict({}, { volumes }))).toBe(
      'restricted volume types (volume "a" uses restricted volume type "nfs")',
    );
  });
});

describe('versions', () => {
  const cases: [string, Level, PodSpec, string, boolean][] = [
    [
      'probes of hosts',
      'baseline',
      { containers: [{ livenessProbe: { httpGet: { host: 'a', port: 1 } } }] },
      '34',
      true,
    ],
    [
      'tcp_rmem',
      'baseline',
      { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } },
      '32',
      false,
    ],
    [
      'container_engine_t',
      'baseline',
      { securityContext: { seLinuxOptions: { type: 'container_engine_t' } } },
      '31',
      false,
    ],
    ['escalation', 'restricted', strict({ allowPrivilegeEscalation: undefined }), '8', true],
    ['dropped capabilities', 'restricted', strict({ capabilities: {} }), '22', true],
    ['root by number', 'restricted', strict({ runAsUser: 0 }), '23', true],
    [
      'Linux only',
      'restricted',
      strict({ allowPrivilegeEscalation: undefined, capabilities: {} }, { os: { name: 'windows' } }),
      '25',
      false,
    ],
    [
      'own users',
      'restricted',
      strict({ runAsUser: 0, runAsNonRoot: false }, { hostUsers: false }),
      '35',
      false,
    ],
    ['seccomp', 'restricted', strict({ seccompProfile: undefined }), '19', true],
  ];
  // Proves that the version before the named one decides otherwise.
  it.each(cases)('%s', (_, level, spec, minor, isRefused) => {
    const before = told(level, spec, { version: `v1.${Number(minor) - 1}` }) !== '';
    const since = told(level, spec, { version: `v1.${minor}` }) !== '';
    expect([before, since]).toEqual([!isRefused, isRefused]);
  });

  it('of proc mounts: user namespaces help at the baseline level alone', () => {
    const spec = strict({ procMount: 'Unmasked' }, { hostUsers: false });
    expect(told('baseline', spec, { version: 'v1.34' })).toContain('procMount');
    expect(told('baseline', spec, { version: 'v1.35' })).toBe('');
    expect(told('restricted', spec, { version: 'v1.35' })).toContain('procMount');
  });

  it('beyond the newest count as the newest', () => {
    const spec = strict({ runAsNonRoot: undefined });
    expect(told('restricted', spec, { version: 'v1.999' })).toBe(told('restricted', spec));
  });
});
