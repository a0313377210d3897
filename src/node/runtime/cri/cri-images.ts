/** The images of an engine that speaks CRI. */
import type { ImageStore, StoredImage } from '../engine/engine-images.ts';
import type { Credentials } from '../engine/registry-credentials.ts';
import { type ImageName, parseImageName, referenceOf } from '../image-name.ts';
import { ImageError } from '../runtime.ts';
import type { CriApi } from './cri-api.ts';

/** Reasons that engines put before the text of an error. */
const reasons = ['RegistryUnavailable', 'SignatureValidationFailed'] as const;

/** The configuration of an image, from the engine's JSON. */
interface ImageConfig {
  readonly Entrypoint?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly Env?: readonly string[] | null;
  readonly WorkingDir?: string;
  readonly User?: string;
}

export class CriImages implements ImageStore {
  constructor(private readonly api: CriApi) {}

  async find(image: string): Promise<StoredImage | undefined> {
    const name = parseImageName(image);
    const { image: found, info } = await this.api.call('ImageStatus', {
      image: { image: name ? referenceOf(name) : image },
      verbose: true,
    });
    if (!found?.id) return undefined;
    const { Entrypoint, Cmd, Env, WorkingDir = '', User } = configIn(info?.['info']);
    return {
      id: found.id,
      repoDigests: found.digests ?? [],
      sizeBytes: found.size ?? 0,
      entrypoint: Entrypoint ?? [],
      args: Cmd ?? [],
      env: Object.fromEntries(
        (Env ?? []).map((text) => [text.split('=')[0]!, text.slice(text.indexOf('=') + 1)]),
      ),
      workingDir: WorkingDir,
      user: User ?? found.username ?? (found.uid?.value ? String(found.uid.value) : ''),
    };
  }

  /** Pulls an image; CRI does not report progress. */
  async pull(name: ImageName, credentials: Credentials | undefined): Promise<void> {
    const request = { image: { image: referenceOf(name) }, auth: credentials };
    try {
      await this.api.call('PullImage', request, { timeoutMs: 0 });
    } catch (error) {
      const { message } = error as Error;
      throw new ImageError(message, reasons.find((reason) => message.startsWith(reason)) ?? 'ErrImagePull');
    }
  }
}

function configIn(text: string | undefined): ImageConfig {
  try {
    const { imageSpec } = JSON.parse(text ?? '{}') as { imageSpec?: { config?: ImageConfig } };
    return imageSpec?.config ?? {};
  } catch {
    return {};
  }
}
