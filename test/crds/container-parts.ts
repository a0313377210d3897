/** The shape of containers, as kinds repeat it that make pods from a template. */
import {
  amount,
  choice,
  count,
  entries,
  fields,
  flag,
  keyed,
  list,
  name,
  port,
  type Schema,
  share,
  text,
  whole,
} from './schema-words.ts';

export const atomic = { 'x-kubernetes-list-type': 'atomic' };
export const words = (description: string): Schema => list(description, { type: 'string' }, atomic);

export const resources = (description: string): Schema =>
  fields(description, {
    limits: entries('The most of each resource.', amount('An amount.')),
    requests: entries('What is set aside of each resource.', amount('An amount.')),
    claims: keyed(
      'Claims of devices that are used.',
      ['name'],
      fields('A claim.', { name: name('Its name in the pod.'), request: text('A part of the claim.') }, [
        'name',
      ]),
    ),
  });

const keyRef = (what: string): Schema =>
  fields(
    `An entry of a ${what}.`,
    { name: text(`The ${what}.`), key: text('The entry.'), optional: flag('Whether it may be missing.') },
    ['key'],
    { 'x-kubernetes-map-type': 'atomic' },
  );

export const environment = (description: string): Schema =>
  keyed(
    description,
    ['name'],
    fields(
      'A variable.',
      {
        name: name('Its name.'),
        value: text('Its value; `$(OTHER)` stands for the value of another one.'),
        valueFrom: fields('Where the value comes from instead.', {
          configMapKeyRef: keyRef('config map'),
          secretKeyRef: keyRef('secret'),
          fieldRef: fields(
            'A field of the pod.',
            { apiVersion: text('Its version.'), fieldPath: text('The path of the field.') },
            ['fieldPath'],
          ),
          resourceFieldRef: fields(
            'A resource of a container.',
            {
              containerName: text('The container.'),
              resource: text('The resource.'),
              divisor: amount('The unit.'),
            },
            ['resource'],
          ),
        }),
      },
      ['name'],
    ),
  );

const action = (description: string): Schema =>
  fields(description, {
    exec: fields('Runs a command in the container.', { command: words('The command and its arguments.') }),
    httpGet: fields(
      'Asks over HTTP.',
      {
        host: text('The host; the pod when unset.'),
        path: text('The path.'),
        port: share('The port, by number or name.'),
        scheme: choice('Plain or over TLS.', ['HTTP', 'HTTPS']),
        httpHeaders: list(
          'Headers to send.',
          fields('A header.', { name: name('Its name.'), value: text('Its value.') }, ['name', 'value']),
          atomic,
        ),
      },
      ['port'],
    ),
    tcpSocket: fields(
      'Opens a connection.',
      { host: text('The host; the pod when unset.'), port: share('The port, by number or name.') },
      ['port'],
    ),
  });

const probe = (description: string): Schema => {
  const made = action(description);
  return {
    ...made,
    properties: {
      ...made.properties,
      grpc: fields(
        'Asks a gRPC health service.',
        { port: port('The port.'), service: text('The service to ask about.', { default: '' }) },
        ['port'],
      ),
      initialDelaySeconds: count('Seconds before the first try.'),
      periodSeconds: whole('Seconds between two tries.', { minimum: 1 }),
      timeoutSeconds: whole('Seconds to wait.', { minimum: 1 }),
      successThreshold: whole('Good tries in a row that count.', { minimum: 1 }),
      failureThreshold: whole('Bad tries in a row that count.', { minimum: 1 }),
    },
  };
};

export const user = {
  runAsUser: { type: 'integer', format: 'int64', description: 'The user of the processes.' },
  runAsGroup: { type: 'integer', format: 'int64', description: 'The group of the processes.' },
  runAsNonRoot: flag('Refuse to run as root.'),
  seccompProfile: fields(
    'Filter of system calls.',
    {
      type: choice('Which filter.', ['Localhost', 'RuntimeDefault', 'Unconfined']),
      localhostProfile: text('A file on the node.'),
    },
    ['type'],
  ),
  seLinuxOptions: fields('Labels of SELinux.', {
    user: text('User.'),
    role: text('Role.'),
    type: text('Type.'),
    level: text('Level.'),
  }),
};

export const container = (description: string): Schema =>
  fields(
    description,
    {
      name: name('Its name in the pod.'),
      image: text('What it runs.'),
      imagePullPolicy: choice('When the image is fetched.', ['Always', 'IfNotPresent', 'Never']),
      command: words('The program.'),
      args: words('Its arguments.'),
      workingDir: text('Where it starts.'),
      env: environment('Variables of the environment.'),
      envFrom: list(
        'Whole sets of variables.',
        fields('A set.', {
          prefix: text('Put before each name.'),
          configMapRef: keyRef('config map'),
          secretRef: keyRef('secret'),
        }),
        atomic,
      ),
      ports: keyed(
        'Ports that it listens on.',
        ['containerPort', 'protocol'],
        fields(
          'A port.',
          {
            containerPort: port('The number in the pod.'),
            protocol: choice('The protocol.', ['TCP', 'UDP', 'SCTP'], { default: 'TCP' }),
            name: text('A name for it.', { maxLength: 15 }),
            hostPort: port('The number on the node.'),
            hostIP: text('The address on the node.'),
          },
          ['containerPort'],
        ),
      ),
      resources: resources('What it needs, and may use.'),
      volumeMounts: keyed(
        'Where volumes appear.',
        ['mountPath'],
        fields(
          'A place.',
          {
            name: name('The volume.'),
            mountPath: text('The folder.'),
            subPath: text('A part of the volume.'),
            subPathExpr: text('The same, with variables.'),
            readOnly: flag('Whether it cannot be written.'),
            mountPropagation: text('Whether mounts spread.'),
          },
          ['mountPath', 'name'],
        ),
      ),
      volumeDevices: keyed(
        'Volumes as devices.',
        ['devicePath'],
        fields('A device.', { name: name('The volume.'), devicePath: text('The device.') }, [
          'devicePath',
          'name',
        ]),
      ),
      livenessProbe: probe('Tells whether it must be restarted.'),
      readinessProbe: probe('Tells whether it can take requests.'),
      startupProbe: probe('Tells whether it has started.'),
      lifecycle: fields('Things to do at the beginning and the end.', {
        postStart: action('After the start.'),
        preStop: action('Before the end.'),
      }),
      securityContext: fields('What it may do.', {
        ...user,
        privileged: flag('Everything.'),
        readOnlyRootFilesystem: flag('Whether its files cannot be written.'),
        allowPrivilegeEscalation: flag('Whether it may gain rights.'),
        procMount: text('How /proc looks.'),
        capabilities: fields('Single rights.', {
          add: words('Rights to add.'),
          drop: words('Rights to take away.'),
        }),
      }),
      terminationMessagePath: text('The file with its last words.'),
      terminationMessagePolicy: choice('Where last words come from.', ['File', 'FallbackToLogsOnError']),
      stdin: flag('Whether input stays open.'),
      stdinOnce: flag('Whether input ends with the first client.'),
      tty: flag('Whether it has a terminal.'),
      restartPolicy: text('Whether it runs beside the others.'),
    },
    ['name'],
  );
