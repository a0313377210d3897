/** The shape of pods, as kinds repeat it that make pods from a template. */
import { atomic, container, user, words } from './container-parts.ts';
import { labelSelector } from './schema-parts.ts';
import {
  amount,
  choice,
  count,
  entries,
  fields,
  flag,
  free,
  keyed,
  list,
  name,
  type Schema,
  text,
  whole,
} from './schema-words.ts';

const keyPaths = list(
  'Entries, and the files that they become.',
  fields('A file.', { key: text('The entry.'), path: text('The file.'), mode: count('Its permissions.') }, [
    'key',
    'path',
  ]),
  atomic,
);

const volume = fields(
  'A volume.',
  {
    name: name('Its name in the pod.'),
    configMap: fields('A config map as files.', {
      name: text('The config map.'),
      items: keyPaths,
      defaultMode: count('Permissions.'),
      optional: flag('Whether it may be missing.'),
    }),
    secret: fields('A secret as files.', {
      secretName: text('The secret.'),
      items: keyPaths,
      defaultMode: count('Permissions.'),
      optional: flag('Whether it may be missing.'),
    }),
    emptyDir: fields('An empty folder.', {
      medium: text('Disk or memory.'),
      sizeLimit: amount('The most it may hold.'),
    }),
    hostPath: fields(
      'A folder of the node.',
      { path: text('The folder.'), type: text('What must be there.') },
      ['path'],
    ),
    persistentVolumeClaim: fields(
      'A claim of storage.',
      { claimName: text('The claim.'), readOnly: flag('Whether it cannot be written.') },
      ['claimName'],
    ),
    nfs: fields(
      'A share.',
      {
        server: text('The server.'),
        path: text('The share.'),
        readOnly: flag('Whether it cannot be written.'),
      },
      ['path', 'server'],
    ),
    csi: fields(
      'A volume of a driver.',
      {
        driver: text('The driver.'),
        readOnly: flag('Whether it cannot be written.'),
        fsType: text('The file system.'),
        volumeAttributes: entries('For the driver.'),
        nodePublishSecretRef: fields('A secret for the driver.', { name: text('The secret.') }),
      },
      ['driver'],
    ),
    projected: fields('Several sources in one folder.', {
      defaultMode: count('Permissions.'),
      sources: list(
        'The sources.',
        fields('A source.', {
          configMap: fields('A config map.', {
            name: text('The config map.'),
            items: keyPaths,
            optional: flag('Whether it may be missing.'),
          }),
          secret: fields('A secret.', {
            name: text('The secret.'),
            items: keyPaths,
            optional: flag('Whether it may be missing.'),
          }),
          serviceAccountToken: fields(
            'A token.',
            {
              audience: text('For whom.'),
              expirationSeconds: { type: 'integer', format: 'int64', description: 'For how long.' },
              path: text('The file.'),
            },
            ['path'],
          ),
        }),
        atomic,
      ),
    }),
  },
  ['name'],
);

const expression = (description: string): Schema =>
  fields(
    description,
    { key: text('What is compared.'), operator: text('How.'), values: words('With what.') },
    ['key', 'operator'],
  );

const nodeTerm = fields('Nodes that fit.', {
  matchExpressions: list('Requirements of labels.', expression('A requirement.'), atomic),
  matchFields: list('Requirements of fields.', expression('A requirement.'), atomic),
});

const podTerm = fields(
  'Pods, and how far away they may be.',
  {
    labelSelector: labelSelector('Which pods.'),
    namespaceSelector: labelSelector('In which namespaces.'),
    namespaces: words('Names of namespaces.'),
    topologyKey: text('The label of nodes that tells what near is.'),
    matchLabelKeys: words('Labels that are taken from the pod.'),
  },
  ['topologyKey'],
);

const podAffinity = (description: string): Schema =>
  fields(description, {
    requiredDuringSchedulingIgnoredDuringExecution: list('Must hold.', podTerm, atomic),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      'Should hold.',
      fields(
        'A wish.',
        { weight: whole('How much it counts.', { minimum: 1, maximum: 100 }), podAffinityTerm: podTerm },
        ['podAffinityTerm', 'weight'],
      ),
      atomic,
    ),
  });

export const affinity = (description: string): Schema =>
  fields(description, {
    nodeAffinity: fields('Nodes to be on.', {
      requiredDuringSchedulingIgnoredDuringExecution: fields(
        'Must hold.',
        { nodeSelectorTerms: list('One must hold.', nodeTerm, atomic) },
        ['nodeSelectorTerms'],
        { 'x-kubernetes-map-type': 'atomic' },
      ),
      preferredDuringSchedulingIgnoredDuringExecution: list(
        'Should hold.',
        fields(
          'A wish.',
          { weight: whole('How much it counts.', { minimum: 1, maximum: 100 }), preference: nodeTerm },
          ['preference', 'weight'],
        ),
        atomic,
      ),
    }),
    podAffinity: podAffinity('Pods to be near.'),
    podAntiAffinity: podAffinity('Pods to be far from.'),
  });

export const tolerations = (description: string): Schema =>
  list(
    description,
    fields('A taint that does not matter.', {
      key: text('Its key.'),
      operator: choice('How it is compared.', ['Exists', 'Equal']),
      value: text('Its value.'),
      effect: choice('What it does.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      tolerationSeconds: { type: 'integer', format: 'int64', description: 'For how long.' },
    }),
    atomic,
  );

export const spreading = (description: string): Schema =>
  keyed(
    description,
    ['topologyKey', 'whenUnsatisfiable'],
    fields(
      'How even.',
      {
        topologyKey: text('The label of nodes.'),
        whenUnsatisfiable: choice('What to do when it cannot be.', ['DoNotSchedule', 'ScheduleAnyway']),
        maxSkew: whole('The most that places may differ.', { minimum: 1 }),
        minDomains: whole('How many places there must be.', { minimum: 1 }),
        labelSelector: labelSelector('Which pods count.'),
      },
      ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
    ),
  );

/** The template of a pod. Its metadata is free, as kinds that make pods have it. */
export const podTemplate = (description: string): Schema =>
  fields(description, {
    metadata: free('Labels and annotations of the pods.'),
    spec: fields(
      'What the pods are.',
      {
        containers: keyed('What runs in a pod.', ['name'], container('A container.'), { minItems: 1 }),
        initContainers: keyed('What runs before.', ['name'], container('A container.')),
        volumes: keyed('Folders and devices.', ['name'], volume),
        affinity: affinity('Where pods like to be.'),
        tolerations: tolerations('Taints of nodes that do not matter.'),
        topologySpreadConstraints: spreading('How pods are spread.'),
        nodeSelector: entries(
          'Labels of nodes to be on.',
          { type: 'string' },
          { 'x-kubernetes-map-type': 'atomic' },
        ),
        nodeName: text('The node to be on.'),
        schedulerName: text('Who chooses the node.'),
        priorityClassName: text('How important the pods are.'),
        priority: whole('The same as a number.'),
        runtimeClassName: text('How containers are run.'),
        restartPolicy: choice('What happens when containers end.', ['Always', 'OnFailure', 'Never']),
        terminationGracePeriodSeconds: {
          type: 'integer',
          format: 'int64',
          minimum: 0,
          description: 'Seconds to end in.',
        },
        activeDeadlineSeconds: {
          type: 'integer',
          format: 'int64',
          minimum: 1,
          description: 'Seconds to live.',
        },
        dnsPolicy: choice('How names are looked up.', [
          'ClusterFirst',
          'ClusterFirstWithHostNet',
          'Default',
          'None',
        ]),
        dnsConfig: fields('More about that.', {
          nameservers: words('Servers to ask.'),
          searches: words('Domains to try.'),
          options: list(
            'Options.',
            fields('An option.', { name: text('Its name.'), value: text('Its value.') }),
            atomic,
          ),
        }),
        serviceAccountName: text('Who the pods are.'),
        automountServiceAccountToken: flag('Whether they can prove it.'),
        hostNetwork: flag('Use the network of the node.'),
        hostPID: flag('See the processes of the node.'),
        hostIPC: flag('Share memory with the node.'),
        hostname: text('The name of the pod in the network.'),
        subdomain: text('The domain of that name.'),
        hostAliases: keyed(
          'More names.',
          ['ip'],
          fields('Names of an address.', { ip: text('The address.'), hostnames: words('The names.') }, [
            'ip',
          ]),
        ),
        imagePullSecrets: keyed(
          'Secrets for fetching images.',
          ['name'],
          fields('A secret.', { name: text('The secret.', { default: '' }) }),
        ),
        securityContext: fields('What all containers may do.', {
          ...user,
          fsGroup: { type: 'integer', format: 'int64', description: 'The group of files in volumes.' },
          fsGroupChangePolicy: text('When files get that group.'),
          supplementalGroups: list('More groups.', { type: 'integer', format: 'int64' }, atomic),
          sysctls: list(
            'Settings of the kernel.',
            fields('A setting.', { name: text('Its name.'), value: text('Its value.') }, ['name', 'value']),
            atomic,
          ),
        }),
        shareProcessNamespace: flag('Containers see the processes of each other.'),
        enableServiceLinks: flag('Whether services appear as variables.'),
        readinessGates: list(
          'More conditions of being ready.',
          fields('A condition.', { conditionType: text('Which.') }, ['conditionType']),
          atomic,
        ),
        overhead: entries('What running a pod itself takes.', amount('An amount.')),
      },
      ['containers'],
    ),
  });
