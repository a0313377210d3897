/** Programs that stand in for those of Windows, for code that runs as on Windows (`WHERRY_AS_PLATFORM`). */
import { readFileSync } from 'node:fs';
import path from 'node:path';

const folder = path.join(import.meta.dirname, '../../scripts/machines/windows');
const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');

export const windowsPrograms = { taskkill: read('taskkill'), powershell: read('powershell') };
