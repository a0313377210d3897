/** The kind Website: a page of text. Its definition, and its objects as TypeScript sees them. */
import type { KubernetesObject, V1CustomResourceDefinition } from '@kubernetes/client-node';

export const group = 'example.com';
export const version = 'v1';
export const plural = 'websites';
export const finalizer = `${plural}.${group}/page`;

export interface Website extends KubernetesObject {
  spec: { text?: string; title: string };
  status?: { phase?: string; page?: string; observedGeneration?: number };
}

export const definition: V1CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, singular: 'website', kind: 'Website', shortNames: ['site'] },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
          { name: 'Page', type: 'string', jsonPath: '.status.page' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['title'],
                properties: {
                  title: { type: 'string', minLength: 1, description: 'Heading of the page.' },
                  text: { type: 'string', maxLength: 10_000, description: 'What the page says.' },
                },
              },
              status: {
                type: 'object',
                properties: {
                  phase: { type: 'string' },
                  page: { type: 'string', description: 'The ConfigMap that has the page.' },
                  observedGeneration: { type: 'integer', format: 'int64' },
                },
              },
            },
          },
        },
      },
    ],
  },
};
