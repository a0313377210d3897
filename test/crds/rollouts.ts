/** Rollouts: new pods beside old ones, in steps, with measurements in between. */
import { podTemplate } from './pod-parts.ts';
import { labelSelector, objectRef, status } from './schema-parts.ts';
import {
  choice,
  count,
  entries,
  fields,
  flag,
  keyed,
  list,
  type MadeUpKind,
  name,
  plus,
  rule,
  ruled,
  type Schema,
  share,
  span,
  text,
  time,
  whole,
  without,
} from './schema-words.ts';

const args = list(
  'Values for the measurement.',
  fields(
    'A value.',
    {
      name: name('Its name.'),
      value: text('The value.'),
      valueFrom: fields('Where it comes from.', {
        podTemplateHashValue: choice('Which pods.', ['Stable', 'Latest']),
        fieldRef: fields('A field of the rollout.', { fieldPath: text('Its path.') }, ['fieldPath']),
      }),
    },
    ['name'],
  ),
);

const analysis = (description: string): Schema =>
  fields(description, {
    templates: list(
      'What is measured.',
      fields(
        'A template.',
        { templateName: name('Its name.'), clusterScope: flag('Whether it is one for all.') },
        ['templateName'],
      ),
    ),
    args,
    startingStep: count('The step to begin with.'),
    dryRun: list(
      'Measurements that do not count.',
      fields('Some.', { metricName: text('A pattern of names.') }, ['metricName']),
    ),
  });

const route = fields('Requests that are meant.', {
  name: name('The name of the route.'),
  match: list(
    'Which requests.',
    fields('A match.', {
      method: fields('The method.', {
        exact: text('This.'),
        prefix: text('Begins with.'),
        regex: text('Matches.'),
      }),
      path: fields('The path.', {
        exact: text('This.'),
        prefix: text('Begins with.'),
        regex: text('Matches.'),
      }),
      headers: entries(
        'Headers.',
        fields('A header.', { exact: text('This.'), prefix: text('Begins with.'), regex: text('Matches.') }),
      ),
    }),
  ),
  percentage: whole('How many of them.', { minimum: 0, maximum: 100 }),
});

const step = fields('One step; one of these fields.', {
  setWeight: whole('Percent of the requests for the new pods.', { minimum: 0, maximum: 100 }),
  pause: fields('Wait.', { duration: share('For so long; until told to go on when unset.') }),
  setCanaryScale: fields('How many new pods.', {
    replicas: count('A number.'),
    weight: whole('Percent.', { minimum: 0, maximum: 100 }),
    matchTrafficWeight: flag('As many as requests.'),
  }),
  analysis: analysis('Measure, and go on when it is good.'),
  experiment: fields('Run other pods beside.', {
    duration: span('For so long.'),
    templates: list(
      'The pods.',
      fields(
        'Some pods.',
        {
          name: name('Their name.'),
          specRef: choice('Like which.', ['stable', 'canary']),
          replicas: count('How many.'),
          weight: whole('Percent of requests.', { minimum: 0, maximum: 100 }),
          metadata: fields('Their metadata.', {
            labels: entries('Labels.'),
            annotations: entries('Annotations.'),
          }),
          selector: labelSelector('Their labels.'),
        },
        ['name', 'specRef'],
      ),
    ),
    analyses: list(
      'Measurements.',
      fields(
        'One.',
        {
          name: name('Its name.'),
          templateName: name('What is measured.'),
          clusterScope: flag('One for all.'),
          requiredForCompletion: flag('Whether it must end.'),
          args,
        },
        ['name', 'templateName'],
      ),
    ),
  }),
  setHeaderRoute: route,
  setMirrorRoute: route,
});

const traffic = fields('Who sends requests where.', {
  managedRoutes: keyed(
    'Routes that are made.',
    ['name'],
    fields('A route.', { name: name('Its name.') }, ['name']),
  ),
  maxTrafficWeight: whole('What counts as everything.', { minimum: 1 }),
  mesh: fields('A service mesh.', {
    virtualServices: list(
      'Its routes.',
      fields(
        'A route.',
        {
          name: name('Its name.'),
          routes: list('Parts of it.', { type: 'string' }),
          tcpRoutes: list('By port.', fields('A port.', { port: count('The port.') })),
          tlsRoutes: list(
            'By name.',
            fields('Names.', { port: count('The port.'), sniHosts: list('The names.', { type: 'string' }) }),
          ),
        },
        ['name'],
      ),
    ),
    destinationRule: fields(
      'Its groups.',
      { name: name('The rule.'), stableSubsetName: text('Old pods.'), canarySubsetName: text('New pods.') },
      ['name'],
    ),
  }),
  ingress: fields('An ingress.', {
    stableIngress: text('The ingress.'),
    annotationPrefix: text('Begins its annotations.'),
    additionalIngressAnnotations: entries('More annotations.'),
  }),
  gateway: fields('A gateway.', { httpRoute: text('The route.'), namespace: text('Where it is.') }),
  plugins: { type: 'object', description: 'Others.', 'x-kubernetes-preserve-unknown-fields': true },
});

const extra = (description: string): Schema =>
  fields(description, { labels: entries('Labels.'), annotations: entries('Annotations.') });

const spec = ruled(
  fields(
    'What is to be.',
    {
      replicas: count('How many pods.', { default: 1 }),
      selector: labelSelector('Which pods are its own.'),
      template: podTemplate('The pods.'),
      workloadRef: plus(objectRef('A workload whose pods are taken over.'), {
        scaleDown: choice('When its own pods go.', ['never', 'onsuccess', 'progressively']),
      }),
      minReadySeconds: count('Seconds that a pod must be ready.', { default: 0 }),
      revisionHistoryLimit: count('Old versions that are kept.', { default: 10 }),
      progressDeadlineSeconds: count('Seconds in which something must happen.', { default: 600 }),
      progressDeadlineAbort: flag('Give up when it does not.'),
      paused: flag('Do nothing.'),
      restartAt: time('When all pods are made anew.'),
      rollbackWindow: fields('Going back is quick.', { revisions: count('For so many versions.') }),
      analysis: fields('Measurements that are kept.', {
        successfulRunHistoryLimit: count('Good ones.'),
        unsuccessfulRunHistoryLimit: count('Bad ones.'),
      }),
      strategy: ruled(
        fields('How new pods come.', {
          blueGreen: fields(
            'All at once, beside the old ones.',
            {
              activeService: name('The service of the old ones.'),
              previewService: text('The service of the new ones.'),
              previewReplicaCount: count('How many at first.'),
              autoPromotionEnabled: flag('Go on without being told.', { default: true }),
              autoPromotionSeconds: count('After so long.'),
              maxUnavailable: share('How many may be missing.'),
              scaleDownDelaySeconds: count('When old ones go.', { default: 30 }),
              abortScaleDownDelaySeconds: count('When new ones go.'),
              scaleDownDelayRevisionLimit: count('How many old versions wait.'),
              activeMetadata: extra('More for the old ones.'),
              previewMetadata: extra('More for the new ones.'),
              prePromotionAnalysis: analysis('Before the change.'),
              postPromotionAnalysis: analysis('After it.'),
            },
            ['activeService'],
          ),
          canary: fields('Some at a time.', {
            canaryService: text('The service of the new ones.'),
            stableService: text('The service of the old ones.'),
            steps: list('The steps.', step, { maxItems: 50 }),
            maxSurge: share('How many more there may be.', { default: '25%' }),
            maxUnavailable: share('How many may be missing.', { default: '25%' }),
            minPodsPerReplicaSet: count('The fewest of a version.'),
            dynamicStableScale: flag('Fewer old ones as new ones come.'),
            scaleDownDelaySeconds: count('When old ones go.'),
            abortScaleDownDelaySeconds: count('When new ones go.'),
            canaryMetadata: extra('More for the new ones.'),
            stableMetadata: extra('More for the old ones.'),
            analysis: analysis('While it goes on.'),
            trafficRouting: traffic,
            pingPong: fields(
              'Two services in turn.',
              { pingService: name('One.'), pongService: name('The other.') },
              ['pingService', 'pongService'],
            ),
          }),
        }),
        rule('has(self.blueGreen) != has(self.canary)', 'one of blueGreen and canary must be given'),
      ),
    },
    ['strategy'],
  ),
  rule('has(self.template) != has(self.workloadRef)', 'one of template and workloadRef must be given'),
);

const found = status({
  replicas: count('Pods.'),
  readyReplicas: count('Ready ones.'),
  availableReplicas: count('Ready for long enough.'),
  updatedReplicas: count('New ones.'),
  HPAReplicas: count('Pods that count for scaling.'),
  selector: text('Their labels.'),
  phase: choice('In a word.', ['Healthy', 'Degraded', 'Progressing', 'Paused']),
  message: text('In a sentence.'),
  abort: flag('Whether it was given up.'),
  currentStepIndex: count('The step.'),
  currentPodHash: text('The new version.'),
  stableRS: text('The old version.'),
  pauseConditions: list(
    'Why it waits.',
    fields('A reason.', { reason: text('The reason.'), startTime: time('Since when.') }, [
      'reason',
      'startTime',
    ]),
  ),
  canary: fields('About steps.', {
    weights: fields('Where requests go.', {
      canary: fields('New.', { weight: count('Percent.'), podTemplateHash: text('Version.') }),
      stable: fields('Old.', { weight: count('Percent.'), podTemplateHash: text('Version.') }),
      verified: flag('Whether it was seen.'),
    }),
  }),
  blueGreen: fields('About both.', {
    activeSelector: text('Old.'),
    previewSelector: text('New.'),
    scaleUpPreviewCheckPoint: flag('Whether new ones were enough.'),
  }),
});

export const rollouts: MadeUpKind = {
  group: 'delivery.example.com',
  kind: 'Rollout',
  plural: 'rollouts',
  shortNames: ['ro'],
  versions: [
    { name: 'v1alpha1', spec: without(spec, 'workloadRef', 'rollbackWindow', 'restartAt'), status: found },
    {
      name: 'v1beta1',
      spec,
      status: found,
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
      columns: [
        { name: 'Desired', type: 'integer', jsonPath: '.spec.replicas' },
        { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      ],
    },
  ],
  sample: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1', ports: [{ containerPort: 80 }] }] },
    },
    strategy: {
      canary: {
        steps: [{ setWeight: 20 }, { pause: {} }, { pause: { duration: '10m' } }, { setWeight: 100 }],
      },
    },
  },
  defaults: {
    '/spec/replicas': 1,
    '/spec/progressDeadlineSeconds': 600,
    '/spec/strategy/canary/maxSurge': '25%',
    '/spec/template/spec/containers/0/ports/0/protocol': 'TCP',
    '/spec/template/metadata/labels/app': 'web',
  },
  breaks: [
    {
      spec: { strategy: { blueGreen: { activeService: 'a' } } },
      causes: [['spec.strategy', 'one of blueGreen and canary must be given']],
    },
    {
      spec: { replicas: -1 },
      causes: [
        ['spec.replicas', 'should be greater than or equal to 0'],
        ['.spec.replicas', 'should be a non-negative integer'],
      ],
    },
    {
      spec: { strategy: { canary: { steps: [{ setWeight: 120 }] } } },
      causes: [['spec.strategy.canary.steps[0].setWeight', 'should be less than or equal to 100']],
    },
    {
      spec: { template: { spec: { containers: [{ name: 'a' }, { name: 'a' }] } } },
      causes: [['spec.template.spec.containers[1]', 'Duplicate value: {"name":"a"}']],
    },
    {
      spec: { template: { spec: { containers: [{ image: 'x' }] } } },
      causes: [
        ['spec.template.spec.containers[0].name', 'Required value'],
        ['<nil>', 'some validation rules'],
      ],
    },
    {
      spec: { strategy: { canary: { maxSurge: true } } },
      causes: [
        ['spec.strategy.canary.maxSurge', 'must be of type integer,string: "boolean"'],
        ['<nil>', 'some validation rules'],
      ],
    },
  ],
  older: {
    replicas: 3,
    selector: { matchLabels: { app: 'old' } },
    template: { spec: { containers: [{ name: 'old', image: 'old:1' }] } },
    strategy: { blueGreen: { activeService: 'old' } },
  },
  migrated: { '/spec/replicas': 3, '/spec/strategy/blueGreen/autoPromotionEnabled': true },
  explained: {
    'spec.template.spec.containers.livenessProbe.httpGet.port': 'number or name',
    'spec.strategy.canary.steps.setWeight': 'Percent',
  },
};
