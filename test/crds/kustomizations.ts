/** Kustomizations: manifests from a source that are built, applied and kept that way. */
import { labelSelector, nameRef, secretKey, status } from './schema-parts.ts';
import {
  choice,
  count,
  entries,
  fields,
  flag,
  list,
  type MadeUpKind,
  name,
  plus,
  rule,
  ruled,
  type Schema,
  span,
  text,
  time,
  without,
} from './schema-words.ts';

const target = (description: string): Schema =>
  fields(description, {
    group: text('Their group.'),
    version: text('Their version.'),
    kind: text('Their kind.'),
    name: text('Their name, as a pattern.'),
    namespace: text('Where they are.'),
    labelSelector: text('Their labels.'),
    annotationSelector: text('Their annotations.'),
  });

const sourceRef = fields(
  'Where manifests come from.',
  {
    apiVersion: text('The version of its format.'),
    kind: choice('What it is.', ['GitRepository', 'Bucket', 'OCIRepository', 'ExternalArtifact']),
    name: name('Its name.'),
    namespace: text('Where it is.', { maxLength: 63 }),
  },
  ['kind', 'name'],
);

const check = fields(
  'An object that must be well.',
  {
    apiVersion: text('The version of its format.'),
    kind: text('What it is.'),
    name: name('Its name.'),
    namespace: text('Where it is.'),
  },
  ['kind', 'name'],
);

const expressions = ['current', 'inProgress', 'failed'] as const;

const spec = ruled(
  fields(
    'What is applied.',
    {
      sourceRef,
      path: text('The folder in it.', { default: './', maxLength: 1024 }),
      interval: text('Time between two looks.', {
        pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$',
        maxLength: 32,
      }),
      retryInterval: span('Time after a failure.'),
      timeout: span('Time for everything.'),
      prune: flag('Whether what is no longer there goes.'),
      deletionPolicy: choice('What goes in the end.', [
        'MirrorPrune',
        'Delete',
        'WaitForTermination',
        'Orphan',
      ]),
      force: flag('Make anew what cannot be changed.', { default: false }),
      suspend: flag('Do nothing.'),
      wait: flag('Until everything is well.'),
      targetNamespace: text('Where everything goes.', { minLength: 1, maxLength: 63 }),
      namePrefix: text('Put before names.', { minLength: 1, maxLength: 200 }),
      nameSuffix: text('Put after names.', { minLength: 1, maxLength: 200 }),
      serviceAccountName: text('Who applies.'),
      ignoreMissingComponents: flag('Go on without them.'),
      components: list('More folders.', { type: 'string' }),
      dependsOn: list(
        'What must be there before.',
        fields(
          'A kustomization.',
          {
            name: name('Its name.'),
            namespace: text('Where it is.'),
            readyExpr: text('When it counts as ready.'),
          },
          ['name'],
        ),
      ),
      commonMetadata: fields('For everything.', {
        labels: entries('Labels.'),
        annotations: entries('Annotations.'),
      }),
      images: list(
        'Images that are replaced.',
        fields(
          'An image.',
          {
            name: text('Its name.'),
            newName: text('The new name.'),
            newTag: text('The new tag.'),
            digest: text('The new digest.'),
          },
          ['name'],
        ),
      ),
      patches: list(
        'Changes.',
        fields('A change.', { patch: text('The change.'), target: target('What is changed.') }, ['patch']),
      ),
      postBuild: fields('After the build.', {
        substitute: entries('Variables.'),
        substituteFrom: list(
          'More of them.',
          fields(
            'A source.',
            {
              kind: choice('What it is.', ['Secret', 'ConfigMap']),
              name: name('Its name.'),
              optional: flag('Whether it may be missing.', { default: false }),
            },
            ['kind', 'name'],
          ),
        ),
      }),
      decryption: fields(
        'Secrets in the manifests.',
        {
          provider: choice('How they are hidden.', ['sops']),
          secretRef: nameRef('The keys.'),
          serviceAccountName: text('Who may read them.'),
        },
        ['provider'],
      ),
      kubeConfig: ruled(
        fields('Another cluster.', {
          secretRef: secretKey('How it is reached.'),
          configMapRef: nameRef('The same, without secrets.'),
        }),
        rule(
          'has(self.secretRef) != has(self.configMapRef)',
          'one of secretRef and configMapRef must be given',
        ),
      ),
      healthChecks: list('What must be well.', check),
      healthCheckExprs: list(
        'How that is told.',
        fields(
          'For a kind.',
          {
            apiVersion: text('The version of its format.'),
            kind: text('What it is.'),
            ...Object.fromEntries(expressions.map((one) => [one, text(`When it is ${one}.`)])),
          },
          ['apiVersion', 'current', 'kind'],
        ),
      ),
      buildMetadata: list(
        'Notes in what is made.',
        { type: 'string', enum: ['originAnnotations', 'transformerAnnotations', 'managedByLabel'] },
        { 'x-kubernetes-list-type': 'set' },
      ),
      replacements: list(
        'Values that are copied.',
        fields('A value.', {
          source: plus(target('From where.'), { fieldPath: text('Which field.') }),
          targets: list(
            'To where.',
            fields('Some.', {
              select: target('Objects.'),
              reject: list('But not these.', target('Objects.')),
              fieldPaths: list('Which fields.', { type: 'string' }),
              options: fields('How.', {
                delimiter: text('Between parts.'),
                index: count('Which part.'),
                create: flag('Even if there is none.'),
              }),
            }),
          ),
        }),
      ),
      selector: labelSelector('Objects that are watched.'),
      history: fields('What is remembered.', { limit: count('How many.', { default: 5, maximum: 50 }) }, [], {
        default: {},
      }),
    },
    ['interval', 'prune', 'sourceRef'],
  ),
  rule("!has(self.retryInterval) || self.retryInterval != ''", 'retryInterval must not be empty'),
  rule(
    '!(has(self.wait) && self.wait && has(self.healthChecks))',
    'wait looks at everything, so healthChecks must not be given',
  ),
);

const found = status({
  lastAppliedRevision: text('What was applied.'),
  lastAttemptedRevision: text('What was tried.'),
  lastHandledReconcileAt: text('The last wish.'),
  inventory: fields(
    'What is there.',
    {
      entries: list(
        'Objects.',
        fields('An object.', { id: text('Which.'), v: text('Its version.') }, ['id', 'v']),
      ),
    },
    ['entries'],
  ),
  history: list(
    'Earlier ones.',
    fields('One.', {
      digest: text('What.'),
      firstReconciled: time('Since.'),
      lastReconciled: time('Until.'),
      lastReconciledStatus: text('How.'),
      totalReconciliations: count('How often.'),
    }),
  ),
});

export const kustomizations: MadeUpKind = {
  group: 'build.example.com',
  kind: 'Kustomization',
  plural: 'kustomizations',
  shortNames: ['ks'],
  versions: [
    {
      name: 'v1beta1',
      spec: plus(
        without(spec, 'components', 'replacements', 'healthCheckExprs', 'history', 'deletionPolicy'),
        { validation: choice('Checked by whom.', ['none', 'client', 'server']) },
      ),
      status: found,
      deprecated: true,
    },
    { name: 'v1beta2', spec: without(spec, 'history'), status: found },
    {
      name: 'v1',
      spec,
      status: found,
      columns: [
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
      ],
    },
  ],
  sample: {
    interval: '10m',
    prune: true,
    sourceRef: { kind: 'GitRepository', name: 'web' },
    postBuild: { substitute: { a: 'b' }, substituteFrom: [{ kind: 'Secret', name: 's' }] },
    images: [{ name: 'x', newTag: '2' }],
  },
  defaults: {
    '/spec/path': './',
    '/spec/force': false,
    '/spec/history': { limit: 5 },
    '/spec/postBuild/substituteFrom/0/optional': false,
  },
  breaks: [
    { spec: { interval: '10 minutes' }, causes: [['spec.interval', 'should match']] },
    {
      spec: { sourceRef: { kind: 'Folder' } },
      causes: [
        ['spec.sourceRef.kind', 'Unsupported value: "Folder"'],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: { kubeConfig: {} },
      causes: [['spec.kubeConfig', 'one of secretRef and configMapRef must be given']],
    },
    { spec: { wait: true, healthChecks: [] }, causes: [['spec', 'wait looks at everything']] },
    {
      spec: { prune: 'yes' },
      causes: [
        ['spec.prune', 'must be of type boolean: "string"'],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: { postBuild: { substitute: { a: 1 } } },
      causes: [
        ['spec.postBuild.substitute.a', 'must be of type string: "integer"'],
        ['<nil>', 'some validation rules'],
      ],
    },
  ],
  older: { interval: '1m', prune: false, sourceRef: { kind: 'Bucket', name: 'b' }, validation: 'server' },
  migrated: { '/spec/prune': false, '/spec/validation': undefined, '/spec/history/limit': 5 },
  explained: {
    'spec.patches.target.labelSelector': 'Their labels',
    'spec.replacements.targets.options.delimiter': 'Between parts',
  },
};
