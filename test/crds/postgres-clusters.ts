/** Clusters of a database: instances, storage, backups, a pool of connections. */
import { environment, resources } from './container-parts.ts';
import { affinity, spreading, tolerations } from './pod-parts.ts';
import { labelSelector, secretKey, status } from './schema-parts.ts';
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
  type MadeUpKind,
  name,
  rule,
  ruled,
  type Schema,
  set,
  span,
  text,
  time,
  whole,
  without,
} from './schema-words.ts';

const claim = (description: string): Schema =>
  fields(description, {
    size: amount('How much.'),
    storageClass: text('Which storage.'),
    resizeInUseVolumes: flag('Whether it may grow while it is used.', { default: true }),
    pvcTemplate: fields('More about the claim.', {
      accessModes: set('Who may write.', {
        type: 'string',
        enum: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOncePod'],
      }),
      volumeMode: choice('Folder or device.', ['Filesystem', 'Block']),
      volumeName: text('A certain volume.'),
      selector: labelSelector('Volumes that fit.'),
      resources: resources('Amounts.'),
      dataSource: fields(
        'What is in it at first.',
        { apiGroup: text('Its group.'), kind: text('Its kind.'), name: name('Its name.') },
        ['kind', 'name'],
        { 'x-kubernetes-map-type': 'atomic' },
      ),
    }),
  });

const bucket = (description: string): Schema =>
  fields(
    description,
    {
      destinationPath: text('The address of the store.', { minLength: 1, pattern: '^[a-z0-9]+://.+$' }),
      endpointURL: text('Another host for it.', { format: 'uri' }),
      endpointCA: secretKey('Who signs that host.'),
      serverName: text('The name in the store; the name of the cluster when unset.'),
      credentials: fields('Who we are.', {
        accessKeyId: secretKey('The name.'),
        secretAccessKey: secretKey('The password.'),
        region: secretKey('Where.'),
        sessionToken: secretKey('For a while.'),
        inheritFromRole: flag('As the machine.'),
      }),
      wal: fields('How changes are stored.', {
        compression: choice('Smaller.', ['gzip', 'bzip2', 'snappy', 'lz4', 'zstd']),
        encryption: choice('Secret.', ['AES256', 'aws:kms']),
        maxParallel: whole('At once.', { minimum: 1 }),
        additionalCommandArgs: list('More arguments.', { type: 'string' }),
      }),
      data: fields('How copies are stored.', {
        compression: choice('Smaller.', ['gzip', 'bzip2', 'snappy']),
        encryption: choice('Secret.', ['AES256', 'aws:kms']),
        jobs: whole('At once.', { minimum: 1 }),
        immediateCheckpoint: flag('Begin at once.'),
        additionalCommandArgs: list('More arguments.', { type: 'string' }),
      }),
      tags: entries('Labels in the store.'),
      historyTags: entries('Labels of histories.'),
    },
    ['destinationPath'],
  );

const external = keyed(
  'Other clusters, to copy from.',
  ['name'],
  fields(
    'A cluster.',
    {
      name: name('Its name.'),
      connectionParameters: entries('How it is reached.'),
      password: secretKey('Its password.'),
      sslCert: secretKey('The certificate to show.'),
      sslKey: secretKey('Its key.'),
      sslRootCert: secretKey('Who signs it.'),
      objectStore: bucket('Its copies.'),
    },
    ['name'],
  ),
  { maxItems: 32 },
);

const initdb = fields('A new one.', {
  database: text('The database.', { default: 'app', maxLength: 63 }),
  owner: text('Who owns it.', { maxLength: 63 }),
  secret: fields('The password of the owner.', { name: name('The secret.') }, ['name']),
  options: list('Arguments of initdb.', { type: 'string' }),
  dataChecksums: flag('Whether pages have checksums.'),
  encoding: text('How text is stored.', { default: 'UTF8' }),
  localeCollate: text('How text is sorted.', { default: 'C' }),
  localeCType: text('What letters are.', { default: 'C' }),
  walSegmentSize: whole('Megabytes of a file of changes.', { minimum: 1, maximum: 1024 }),
  postInitSQL: list('Commands afterwards, as the administrator.', { type: 'string' }),
  postInitApplicationSQL: list('Commands afterwards, in the database.', { type: 'string' }),
  import: fields(
    'Take over from another.',
    {
      type: choice('How much.', ['microservice', 'monolith']),
      databases: list('Which.', { type: 'string' }),
      roles: list('Whose.', { type: 'string' }),
      source: fields('From where.', { externalCluster: text('The cluster.') }, ['externalCluster']),
      schemaOnly: flag('Without data.'),
    },
    ['databases', 'source', 'type'],
  ),
});

const spec = ruled(
  fields(
    'What the cluster is to be.',
    {
      description: text('For people.'),
      instances: whole('How many instances.', { minimum: 1, maximum: 100, default: 1 }),
      minSyncReplicas: count('Copies that must have a change.', { default: 0 }),
      maxSyncReplicas: count('Copies that are waited for.', { default: 0 }),
      imageName: text('What they run.'),
      imagePullPolicy: choice('When it is fetched.', ['Always', 'IfNotPresent', 'Never']),
      imagePullSecrets: keyed(
        'Secrets for fetching.',
        ['name'],
        fields('A secret.', { name: name('Its name.') }, ['name']),
      ),
      postgresUID: { type: 'integer', format: 'int64', description: 'The user.', default: 26 },
      postgresGID: { type: 'integer', format: 'int64', description: 'The group.', default: 26 },
      storage: claim('Where data is.'),
      walStorage: claim('Where changes are.'),
      tablespaces: keyed(
        'More places.',
        ['name'],
        fields(
          'A place.',
          {
            name: name('Its name.'),
            temporary: flag('For sorting.'),
            owner: fields('Whose.', { name: text('The role.') }),
            storage: claim('Where.'),
          },
          ['name', 'storage'],
        ),
        { maxItems: 64 },
      ),
      postgresql: fields('Settings of the server.', {
        parameters: entries('By name.', { type: 'string', maxLength: 4096 }, { maxProperties: 500 }),
        pg_hba: list('Who may connect.', { type: 'string' }),
        pg_ident: list('Who is who.', { type: 'string' }),
        shared_preload_libraries: list('Extensions.', { type: 'string' }),
        enableAlterSystem: flag('Whether it may change its settings.', { default: false }),
        promotionTimeout: whole('Seconds to become the first.', { minimum: 1, default: 40_000_000 }),
        synchronous: ruled(
          fields(
            'Copies that are waited for.',
            {
              method: choice('Which count.', ['any', 'first']),
              number: whole('How many.', { minimum: 1 }),
              maxStandbyNamesFromCluster: count('How many names.'),
              standbyNamesPre: list('Names before.', { type: 'string' }),
              standbyNamesPost: list('Names after.', { type: 'string' }),
              dataDurability: choice('What counts more.', ['required', 'preferred'], { default: 'required' }),
            },
            ['method', 'number'],
          ),
          rule('self.number < 50', 'that many copies are never in time'),
        ),
        ldap: fields('People from a directory.', {
          server: text('The server.'),
          port: count('Its port.'),
          scheme: choice('How.', ['ldap', 'ldaps']),
          tls: flag('Over TLS.'),
          bindAsAuth: fields('By name.', { prefix: text('Before.'), suffix: text('After.') }),
          bindSearchAuth: fields('By search.', {
            baseDN: text('Where.'),
            bindDN: text('As whom.'),
            bindPassword: secretKey('With which password.'),
            searchAttribute: text('By what.'),
            searchFilter: text('Which.'),
          }),
        }),
      }),
      bootstrap: ruled(
        fields('Where it comes from.', {
          initdb,
          recovery: fields('A copy.', {
            source: text('The cluster.'),
            database: text('The database.'),
            owner: text('Whose.'),
            backup: fields('A certain copy.', { name: name('The copy.') }, ['name']),
            recoveryTarget: fields('Up to when.', {
              targetTime: text('A time.'),
              targetXID: text('A transaction.'),
              targetLSN: text('A place.'),
              targetName: text('A mark.'),
              targetTLI: text('A history.'),
              targetImmediate: flag('As soon as it is whole.'),
              exclusive: flag('Just before.'),
              backupID: text('From which copy.'),
            }),
          }),
          pg_basebackup: fields(
            'A running one.',
            { source: name('The cluster.'), database: text('The database.'), owner: text('Whose.') },
            ['source'],
          ),
        }),
        rule(
          '[has(self.initdb), has(self.recovery), has(self.pg_basebackup)].filter(x, x).size() <= 1',
          'a cluster comes from one place',
        ),
      ),
      replica: fields(
        'Follow another cluster.',
        {
          enabled: flag('Whether.'),
          source: name('Which.'),
          primary: text('Who leads.'),
          self: text('Who we are.'),
          promotionToken: text('Proof that we may lead.'),
          minApplyDelay: span('How far behind.'),
        },
        ['source'],
      ),
      externalClusters: external,
      backup: fields('Copies.', {
        objectStore: bucket('Where they go.'),
        retentionPolicy: text('How long they are kept.', { pattern: '^[1-9][0-9]*[dwm]$' }),
        target: choice('Who makes them.', ['primary', 'prefer-standby'], { default: 'prefer-standby' }),
        volumeSnapshot: fields('By the storage.', {
          className: text('How.'),
          walClassName: text('How for changes.'),
          labels: entries('Labels.'),
          annotations: entries('Annotations.'),
          online: flag('While it runs.', { default: true }),
          snapshotOwnerReference: choice('Who owns them.', ['none', 'cluster', 'backup'], {
            default: 'none',
          }),
        }),
      }),
      superuserSecret: fields('The password of the administrator.', { name: name('The secret.') }, ['name']),
      enableSuperuserAccess: flag('Whether there is one.', { default: false }),
      managed: fields('Things in the database.', {
        roles: keyed(
          'Roles.',
          ['name'],
          fields(
            'A role.',
            {
              name: name('Its name.'),
              ensure: choice('Be there or not.', ['present', 'absent'], { default: 'present' }),
              comment: text('For people.'),
              login: flag('May connect.'),
              superuser: flag('May do everything.'),
              createdb: flag('May make databases.'),
              createrole: flag('May make roles.'),
              inherit: flag('Has what its groups have.', { default: true }),
              replication: flag('May copy.'),
              bypassrls: flag('Sees all rows.'),
              connectionLimit: { type: 'integer', format: 'int64', description: 'At once.', default: -1 },
              validUntil: time('Until when.'),
              inRoles: list('Its groups.', { type: 'string' }),
              passwordSecret: fields('Its password.', { name: name('The secret.') }, ['name']),
              disablePassword: flag('Has none.'),
            },
            ['name'],
          ),
        ),
        services: fields('Services.', {
          disabledDefaultServices: set('That are not made.', { type: 'string', enum: ['rw', 'r', 'ro'] }),
          additional: list(
            'That are made, too.',
            fields(
              'A service.',
              {
                selectorType: choice('Of whom.', ['rw', 'r', 'ro']),
                updateStrategy: choice('How it changes.', ['patch', 'replace'], { default: 'patch' }),
                serviceTemplate: {
                  type: 'object',
                  description: 'What it is.',
                  'x-kubernetes-embedded-resource': true,
                  'x-kubernetes-preserve-unknown-fields': true,
                },
              },
              ['selectorType'],
            ),
          ),
        }),
      }),
      affinity: fields('Where instances are.', {
        enablePodAntiAffinity: flag('Far from each other.'),
        topologyKey: text('What near is.'),
        podAntiAffinityType: choice('Must or should.', ['required', 'preferred']),
        nodeSelector: entries('Labels of nodes.'),
        tolerations: tolerations('Taints that do not matter.'),
        additional: affinity('More.'),
      }),
      topologySpreadConstraints: spreading('How they are spread.'),
      resources: resources('What an instance needs.'),
      env: environment('Variables.'),
      priorityClassName: text('How important they are.'),
      primaryUpdateStrategy: choice('How the first one changes.', ['unsupervised', 'supervised'], {
        default: 'unsupervised',
      }),
      primaryUpdateMethod: choice('In which way.', ['switchover', 'restart'], { default: 'restart' }),
      startDelay: count('Seconds to start.', { default: 3600 }),
      stopDelay: count('Seconds to stop.', { default: 1800 }),
      smartShutdownTimeout: count('Seconds for clients.', { default: 180 }),
      switchoverDelay: count('Seconds to hand over.', { default: 3600 }),
      failoverDelay: count('Seconds to wait.', { default: 0 }),
      logLevel: choice('How much is told.', ['error', 'warning', 'info', 'debug', 'trace'], {
        default: 'info',
      }),
      certificates: fields('Certificates.', {
        serverCASecret: text('Who signs.'),
        serverTLSSecret: text('The server.'),
        clientCASecret: text('Who signs clients.'),
        replicationTLSSecret: text('Copies.'),
        serverAltDNSNames: list('More names.', { type: 'string' }),
      }),
      monitoring: fields('Figures.', {
        enablePodMonitor: flag('Whether they are collected.', { default: false }),
        disableDefaultQueries: flag('Without the usual.', { default: false }),
        customQueriesConfigMap: list('More.', secretKey('Queries.')),
        customQueriesSecret: list('More, hidden.', secretKey('Queries.')),
      }),
      nodeMaintenanceWindow: fields('Nodes go away for a while.', {
        inProgress: flag('Now.', { default: false }),
        reusePVC: flag('Storage waits.', { default: true }),
      }),
      inheritedMetadata: fields('For everything that is made.', {
        labels: entries('Labels.'),
        annotations: entries('Annotations.'),
      }),
      pooler: free('Settings of the pool of connections.'),
    },
    ['instances'],
  ),
  rule(
    'self.maxSyncReplicas >= self.minSyncReplicas',
    'maxSyncReplicas must not be less than minSyncReplicas',
  ),
  rule('self.instances > self.maxSyncReplicas', 'there must be more instances than copies to wait for'),
);

const found = status({
  instances: count('Instances.'),
  readyInstances: count('Ready ones.'),
  currentPrimary: text('The first.'),
  targetPrimary: text('Who shall be.'),
  targetPrimaryTimestamp: time('Since when.'),
  phase: text('In a word.'),
  phaseReason: text('Why.'),
  writeService: text('Where to write.'),
  readService: text('Where to read.'),
  timelineID: count('The history.'),
  instanceNames: list('Their names.', { type: 'string' }),
  instancesStatus: entries('By state.', list('Names.', { type: 'string' })),
  firstRecoverabilityPoint: text('The oldest time to go back to.'),
  lastSuccessfulBackup: text('The last copy.'),
  lastFailedBackup: text('The last that failed.'),
  topology: fields('Where they are.', {
    nodesUsed: count('Nodes.'),
    successfullyExtracted: flag('Whether it is known.'),
    instances: entries('By name.', entries('Labels.')),
  }),
  certificates: fields('Certificates.', { expirations: entries('Until when.') }),
});

export const postgresclusters: MadeUpKind = {
  group: 'db.example.com',
  kind: 'PostgresCluster',
  plural: 'postgresclusters',
  shortNames: ['pgc'],
  categories: ['all'],
  versions: [
    {
      name: 'v1alpha1',
      spec: without(spec, 'tablespaces', 'managed', 'nodeMaintenanceWindow', 'failoverDelay'),
      status: found,
      deprecated: true,
    },
    { name: 'v1beta1', spec: without(spec, 'tablespaces'), status: found },
    {
      name: 'v1',
      spec,
      status: found,
      scale: { specReplicasPath: '.spec.instances', statusReplicasPath: '.status.instances' },
      columns: [
        { name: 'Instances', type: 'integer', jsonPath: '.status.instances' },
        { name: 'Primary', type: 'string', jsonPath: '.status.currentPrimary' },
      ],
      selectable: ['.spec.logLevel'],
    },
  ],
  sample: {
    instances: 3,
    maxSyncReplicas: 1,
    storage: { size: '10Gi' },
    bootstrap: { initdb: { owner: 'app' } },
    managed: {
      roles: [{ name: 'reader' }],
      services: {
        additional: [
          {
            selectorType: 'rw',
            serviceTemplate: {
              apiVersion: 'v1',
              kind: 'Service',
              metadata: { name: 'db', labels: { a: 'b' } },
              spec: { type: 'LoadBalancer' },
            },
          },
        ],
      },
    },
  },
  defaults: {
    '/spec/minSyncReplicas': 0,
    '/spec/bootstrap/initdb/database': 'app',
    '/spec/storage/resizeInUseVolumes': true,
    '/spec/managed/roles/0': { name: 'reader', ensure: 'present', inherit: true, connectionLimit: -1 },
    '/spec/managed/services/additional/0/serviceTemplate/metadata': { name: 'db', labels: { a: 'b' } },
  },
  breaks: [
    {
      spec: { maxSyncReplicas: 3 },
      causes: [['spec', 'there must be more instances than copies to wait for']],
    },
    {
      spec: { bootstrap: { recovery: { source: 'x' } } },
      causes: [['spec.bootstrap', 'a cluster comes from one place']],
    },
    { spec: { storage: { size: 'much' } }, causes: [['spec.storage.size', 'should match']] },
    {
      spec: { instances: 'three' },
      causes: [
        ['spec.instances', 'must be of type integer: "string"'],
        ['.spec.instances', 'is of the type string, expected int64'],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: {
        managed: {
          services: { additional: [{ selectorType: 'rw', serviceTemplate: { metadata: { name: 'x' } } }] },
        },
      },
      causes: [
        ['spec.managed.services.additional[0].serviceTemplate.apiVersion', 'Required value'],
        ['spec.managed.services.additional[0].serviceTemplate.kind', 'Required value'],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: { managed: { roles: [{ name: 'a' }, { name: 'a' }] } },
      causes: [['spec.managed.roles[1]', 'Duplicate value']],
    },
  ],
  older: { instances: 2, storage: { size: 5 }, backup: { objectStore: { destinationPath: 's3://x/y' } } },
  migrated: { '/spec/storage/size': 5, '/spec/backup/target': 'prefer-standby', '/spec/failoverDelay': 0 },
  explained: {
    'spec.postgresql.synchronous.dataDurability': 'counts more',
    'spec.backup.objectStore.credentials.secretAccessKey.key': 'entry of the secret',
  },
};
