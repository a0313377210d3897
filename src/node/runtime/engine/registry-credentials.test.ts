import { describe, expect, it } from 'vitest';
import type { Secret } from '../../../api/generated/types.ts';
import { parseImageName } from '../image-name.ts';
import { credentialsFor } from './registry-credentials.ts';

const secretOf = (auths: object): Secret => ({
  metadata: { name: 's' },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
});
const login = (username: string) => ({ username, password: 'p' });
const usersFor = (image: string, ...secrets: Secret[]) =>
  credentialsFor(parseImageName(image)!, secrets).map(({ username }) => username);

describe('credentials for an image', () => {
  it('are those of its registry, the longest path first', () => {
    // Proves that a password is never sent to another registry, port or team.
    const secret = secretOf({
      'registry.example.com': login('all'),
      'registry.example.com/team': login('team'),
      'registry.example.com/other': login('other'),
      'registry.example.com:5000': login('port'),
      'quay.io': login('quay'),
    });
    expect(usersFor('registry.example.com/team/app:1', secret)).toEqual(['team', 'all']);
    expect(usersFor('registry.example.com/teamwork/app', secret)).toEqual(['all']);
    expect(usersFor('registry.example.com:5000/app', secret)).toEqual(['port']);
    expect(usersFor('example.com/app', secret)).toEqual([]);
  });

  it('of Docker Hub have the URL that `docker login` writes', () => {
    const secret = secretOf({
      'https://index.docker.io/v1/': { auth: Buffer.from('me:pw:x').toString('base64') },
    });
    expect(credentialsFor(parseImageName('nginx')!, [secret])).toEqual([
      { username: 'me', password: 'pw:x' },
    ]);
  });

  it('match labels of a host by an asterisk', () => {
    const secret = secretOf({ '*.example.com': login('glob') });
    expect(usersFor('eu.example.com/app', secret)).toEqual(['glob']);
    expect(usersFor('a.eu.example.com/app', secret)).toEqual([]);
    expect(usersFor('example.com/app', secret)).toEqual([]);
  });

  it('are none where a secret is broken', () => {
    // Proves that a secret of a user cannot fail the node.
    const broken: Secret[] = [
      { metadata: {}, type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'bm8=' } },
      { metadata: {}, type: 'Opaque' },
      secretOf({ 'a.example.com': null, 'b.example.com': { auth: 7 } }),
    ];
    expect(usersFor('a.example.com/app', ...broken)).toEqual([]);
  });
});
