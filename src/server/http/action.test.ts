/** Proves which action authorizers get for a URL where it differs from what routing reads in it. */
import { describe, expect, it } from 'vitest';
import { parseRequest } from './request-info.ts';

const action = (method: string, url: string) => parseRequest(method, url).action;
const brief = (method: string, url: string): string => {
  const { verb, resource } = action(method, url);
  return `${verb} ${resource?.resource} ${resource?.namespace ?? '-'} ${resource?.name ?? '-'}`;
};

describe('an action', () => {
  it.each([
    ['GET', '/api/v1/namespaces/team', 'get namespaces team team'],
    ['PUT', '/api/v1/namespaces/team/finalize', 'update namespaces team team'],
    ['GET', '/api/v1/namespaces', 'list namespaces - -'],
    ['GET', '/api/v1/namespaces?fieldSelector=metadata.name%3Dteam', 'list namespaces - team'],
    ['GET', '/api/v1/namespaces/team/pods', 'list pods team -'],
    ['GET', '/api/v1/namespaces//pods', 'list pods - -'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx', 'list pods - x'],
    ['GET', '/api/v1/pods?watch=1&fieldSelector=metadata.name%3D%3Dx', 'watch pods - x'],
    [
      'DELETE',
      '/api/v1/namespaces/team/pods?fieldSelector=metadata.name%3Dx',
      'deletecollection pods team x',
    ],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name!%3Dx', 'list pods - -'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name%3D', 'list pods - -'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name%3D..', 'list pods - -'],
    ['GET', '/api/v1/pods?fieldSelector=nonsense', 'list pods - -'],
    ['GET', '/api/v1/pods?fieldSelector=&fieldSelector=metadata.name%3Dx', 'list pods - -'],
    ['POST', '/api/v1/namespaces/team/pods?fieldSelector=metadata.name%3Dx', 'create pods team -'],
    ['GET', '/api/v1/namespaces/team/pods/y?fieldSelector=metadata.name%3Dx', 'get pods team y'],
    ['GET', '/api/v1/watch/namespaces/team/pods/y?fieldSelector=metadata.name%3Dx', 'watch pods team y'],
  ])('of %s %s is %s', (method, url, expected) => {
    expect(brief(method, url)).toBe(expected);
  });

  it('has selectors only where they choose', () => {
    const { resource } = action('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn&labelSelector=a%3Db');
    expect(resource?.fieldSelector?.requires('spec.nodeName')).toBe('n');
    expect(resource?.labelSelector?.toString()).toBe('a=b');
    expect(action('GET', '/api/v1/pods?labelSelector=a%20in%20(').resource?.labelSelector).toBeUndefined();
    expect(
      action('POST', '/api/v1/namespaces/x/pods?labelSelector=a%3Db').resource?.labelSelector,
    ).toBeUndefined();
  });

  it('of a path keeps the slash at its end', () => {
    expect(action('GET', '/logs/').path).toBe('/logs/');
    expect(action('GET', '/logs').path).toBe('/logs');
    expect(action('GET', '/').path).toBe('/');
  });
});
