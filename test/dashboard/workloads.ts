/** Objects that tests of the dashboard look at. */

const podOf = (app: string, image: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: app, image, resources: { requests: { cpu: '100m' } } }] },
});

export const deployment = (name: string, replicas: number, image = `${name}:1`) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { app: name } },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: podOf(name, image) },
});

export const service = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80 }] },
});

export const cronJob = (name: string) => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name },
  spec: {
    schedule: '0 0 1 1 *',
    jobTemplate: {
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name, image: name }] } } },
    },
  },
});

export const deployments = '/apis/apps/v1/namespaces/default/deployments';
export const services = '/api/v1/namespaces/default/services';
export const cronJobs = '/apis/batch/v1/namespaces/default/cronjobs';
export const jobs = '/apis/batch/v1/namespaces/default/jobs';
export const pods = '/api/v1/namespaces/default/pods';
export const configMaps = '/api/v1/namespaces/default/configmaps';
