/** The admission configuration file: settings of plugins, in the file itself or in files that it names. */
import path from 'node:path';
import { ConfigurationValue, readConfiguration } from '../../api/text/configuration.ts';
import { readYaml } from '../../api/text/yaml.ts';
import {
  type PodSecuritySettings,
  readPodSecuritySettings,
} from '../../registry/admission/pod-security-settings.ts';
import { readConfigurationFile } from './configuration-file.ts';

const versions = ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1'];

export interface AdmissionSettings {
  readonly podSecurity: PodSecuritySettings | undefined;
}

export function readAdmissionFile(file: string): Promise<AdmissionSettings> {
  return readConfigurationFile(file, 'the admission configuration', async (text) => {
    const { plugins } = readConfiguration(text, 'AdmissionConfiguration', versions, 'plugins');
    let podSecurity: PodSecuritySettings | undefined;
    for (const plugin of plugins.items()) {
      const { name, path: named, configuration } = plugin.fields('name', 'path', 'configuration');
      if (name.text() !== 'PodSecurity')
        throw new Error(`${name.path} must be PodSecurity: no other plugin takes settings`);
      if (podSecurity) throw new Error('the plugin PodSecurity is there twice');
      podSecurity = configuration.isSet
        ? readPodSecuritySettings(configuration)
        : await readPluginFile(path.resolve(path.dirname(file), named.text()));
    }
    return { podSecurity };
  });
}

const readPluginFile = (file: string): Promise<PodSecuritySettings> =>
  readConfigurationFile(file, 'the pod security configuration', (text) =>
    readPodSecuritySettings(new ConfigurationValue(readYaml(text).value, '')),
  );
