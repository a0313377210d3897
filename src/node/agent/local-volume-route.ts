/** `/localvolumes` of the kubelet API: lets the API server make and remove the folders of volumes on this node. */
import { LocalVolumeError } from '../volumes/local-volumes.ts';
import { KubeletRefusal, notFound } from './kubelet-sessions.ts';
import type { Asked } from './kubelet-views.ts';

/**
 * `GET /localvolumes` lists paths, `PUT /localvolumes/{name}?under=PATH` makes a folder and answers with its path,
 * `DELETE /localvolumes/{name}?path=PATH[&empty=true]` removes it.
 */
export async function localVolumes({ host, request, path, query }: Asked): Promise<object> {
  const { volumes } = host;
  const [name, ...rest] = path;
  if (!volumes || rest.length) throw notFound();
  const { method } = request;
  if ((method === 'GET') !== (name === undefined)) throw notFound();
  try {
    if (name === undefined) return { paths: await volumes.list() };
    if (method === 'PUT') return { path: await volumes.make(name, query.get('under') ?? '') };
    await volumes.remove(name, query.get('path') ?? '', query.get('empty') === 'true');
    return {};
  } catch (error) {
    if (error instanceof LocalVolumeError) throw new KubeletRefusal(400, error.message);
    throw new KubeletRefusal(500, (error as Error).message);
  }
}
