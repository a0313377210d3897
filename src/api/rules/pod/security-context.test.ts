// Proves the rules for security contexts of containers (kinds.md 9.2) and pods (9.4).
import { describe } from 'vitest';
import { container, testContainers, testSpecs } from '../../kinds/core/pod.fixture.ts';

const c = 'spec.containers[0].securityContext';
const s = 'spec.securityContext';
const idText = 'must be between 0 and 2147483647, inclusive';
const internal = (fields: object) =>
  JSON.stringify({
    Capabilities: null,
    Privileged: null,
    SELinuxOptions: null,
    WindowsOptions: null,
    RunAsUser: null,
    RunAsGroup: null,
    RunAsNonRoot: null,
    ReadOnlyRootFilesystem: null,
    AllowPrivilegeEscalation: false,
    ProcMount: null,
    SeccompProfile: null,
    AppArmorProfile: null,
    ...fields,
  });

describe('containers', () => {
  const context = (fields: object) => ({ securityContext: fields });
  testContainers([
    [
      'privileged',
      context({ privileged: true }),
      [`${c}.privileged`, 'F', 'Forbidden: disallowed by cluster policy'],
    ],
    ['not privileged', context({ privileged: false })],
    [
      'ids',
      context({ runAsUser: -1, runAsGroup: 2147483648 }),
      [`${c}.runAsUser`, 'I', `Invalid value: -1: ${idText}`],
      [`${c}.runAsGroup`, 'I', `Invalid value: 2147483648: ${idText}`],
    ],
    [
      'procMount',
      context({ procMount: 'X' }),
      [`${c}.procMount`, 'N', 'Unsupported value: "X": supported values: "Default", "Unmasked"'],
    ],
    [
      'Unmasked with the users of the node',
      context({ procMount: 'Unmasked' }),
      [`${c}.procMount`, 'I', 'Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
    ],
    [
      'no escalation, but privileged',
      context({ allowPrivilegeEscalation: false, privileged: true }),
      [`${c}.privileged`, 'F', 'Forbidden: disallowed by cluster policy'],
      [
        c,
        'I',
        `Invalid value: ${internal({ Privileged: true })}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
      ],
    ],
    [
      'no escalation, but CAP_SYS_ADMIN',
      context({ allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } }),
      [
        c,
        'I',
        `Invalid value: ${internal({ Capabilities: { Add: ['CAP_SYS_ADMIN'], Drop: null } })}: cannot set \`allowPrivilegeEscalation\` to false and \`capabilities.Add\` CAP_SYS_ADMIN`,
      ],
    ],
  ]);
  testSpecs([
    [
      'Unmasked with users of its own',
      { hostUsers: false, containers: [container(context({ procMount: 'Unmasked' }))] },
    ],
  ]);
});

describe.each(['pod', 'container'])('profiles of a %s', (place) => {
  const at = place === 'pod' ? s : c;
  const spec = (fields: object) =>
    place === 'pod' ? { securityContext: fields } : { containers: [container({ securityContext: fields })] };
  const types = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"';
  testSpecs([
    [
      'seccomp: no type',
      spec({ seccompProfile: {} }),
      [`${at}.seccompProfile.type`, 'R', 'Required value: type is required when seccompProfile is set'],
    ],
    [
      'seccomp: other type',
      spec({ seccompProfile: { type: 'X' } }),
      [`${at}.seccompProfile.type`, 'N', `Unsupported value: "X": ${types}`],
    ],
    [
      'seccomp: Localhost without a profile',
      spec({ seccompProfile: { type: 'Localhost' } }),
      [
        `${at}.seccompProfile.localhostProfile`,
        'R',
        'Required value: must be set when seccomp type is Localhost',
      ],
    ],
    [
      'seccomp: profile of another type',
      spec({ seccompProfile: { type: 'Unconfined', localhostProfile: 'a' } }),
      [
        `${at}.seccompProfile.localhostProfile`,
        'I',
        'Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost',
      ],
    ],
    ['seccomp as it should be', spec({ seccompProfile: { type: 'Localhost', localhostProfile: 'a/b' } })],
    [
      'AppArmor: no type',
      spec({ appArmorProfile: {} }),
      [`${at}.appArmorProfile.type`, 'R', 'Required value: type is required when appArmorProfile is set'],
    ],
    [
      'AppArmor: other type',
      spec({ appArmorProfile: { type: 'X' } }),
      [`${at}.appArmorProfile.type`, 'N', `Unsupported value: "X": ${types}`],
    ],
    [
      'AppArmor: Localhost without a profile',
      spec({ appArmorProfile: { type: 'Localhost' } }),
      [
        `${at}.appArmorProfile.localhostProfile`,
        'R',
        'Required value: must be set when AppArmor type is Localhost',
      ],
    ],
    [
      'AppArmor: profile of another type',
      spec({ appArmorProfile: { type: 'Unconfined', localhostProfile: 'a' } }),
      [
        `${at}.appArmorProfile.localhostProfile`,
        'I',
        'Invalid value: "a": can only be set when AppArmor type is Localhost',
      ],
    ],
    [
      'AppArmor: blanks',
      spec({ appArmorProfile: { type: 'Localhost', localhostProfile: ' a' } }),
      [
        `${at}.appArmorProfile.localhostProfile`,
        'I',
        'Invalid value: " a": must not be padded with whitespace',
      ],
    ],
    [
      'AppArmor: too long',
      spec({ appArmorProfile: { type: 'Localhost', localhostProfile: 'a'.repeat(4096) } }),
      [`${at}.appArmorProfile.localhostProfile`, 'TL', 'Too long: may not be more than 4095 bytes'],
    ],
    ['AppArmor as it should be', spec({ appArmorProfile: { type: 'Localhost', localhostProfile: 'a' } })],
  ]);
});

describe('pods', () => {
  const sysctls = (...names: string[]) => ({
    securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) },
  });
  testSpecs([
    [
      'ids',
      { securityContext: { runAsUser: -1, runAsGroup: -2, fsGroup: -3, supplementalGroups: [1, -4] } },
      [`${s}.fsGroup`, 'I', `Invalid value: -3: ${idText}`],
      [`${s}.runAsUser`, 'I', `Invalid value: -1: ${idText}`],
      [`${s}.runAsGroup`, 'I', `Invalid value: -2: ${idText}`],
      [`${s}.supplementalGroups[1]`, 'I', `Invalid value: -4: ${idText}`],
    ],
    [
      'shareProcessNamespace with hostPID',
      { shareProcessNamespace: true, hostPID: true },
      [
        `${s}.shareProcessNamespace`,
        'I',
        'Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
      ],
    ],
    ['sysctl: no name', sysctls(''), [`${s}.sysctls[0].name`, 'R', 'Required value']],
    [
      'sysctl: bad name',
      sysctls('a b'),
      [
        `${s}.sysctls[0].name`,
        'I',
        'Invalid value: "a b": must have at most 253 characters and match regex [a-z0-9]([-_a-z0-9]*[a-z0-9])?([\\./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*',
      ],
    ],
    [
      'sysctl: repeated',
      sysctls('kernel.sem', 'kernel.sem'),
      [`${s}.sysctls[1].name`, 'D', 'Duplicate value: "kernel.sem"'],
    ],
    [
      'sysctl of the network of the node',
      { hostNetwork: true, ...sysctls('net.ipv4.ip_local_port_range', 'kernel.sem') },
      [
        `${s}.sysctls[0].name`,
        'I',
        `Invalid value: "net.ipv4.ip_local_port_range": may not be specified when 'hostNetwork' is true`,
      ],
    ],
    [
      'sysctl of the messages of the node',
      { hostIPC: true, ...sysctls('kernel.shmmax', 'net.core.somaxconn') },
      [
        `${s}.sysctls[0].name`,
        'I',
        `Invalid value: "kernel.shmmax": may not be specified when 'hostIPC' is true`,
      ],
    ],
    ['sysctl with slashes', sysctls('net/ipv4/conf.eth0-1/x_y')],
  ]);
});
