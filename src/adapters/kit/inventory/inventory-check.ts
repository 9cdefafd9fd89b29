import { explain, isProviderError, UsageError } from '../../../domain/errors.ts';
import type { HostKeyPolicy } from '../../../domain/policy.ts';
import type { SettingComplaint } from '../../provider/port.ts';
import { fileSource, isPage } from './source.ts';

const NAMES_SHOWN = 5;

interface Listed {
  readonly id: string;
  readonly hostKey: string | null;
}

/**
 * What a provider with this inventory would refuse, or could never start an agent on. A page is not
 * asked for.
 * @param parse reads the list of it.
 */
export async function complaintsAboutInventory(
  inventory: string,
  parse: (content: string) => readonly Listed[],
  policy: HostKeyPolicy,
): Promise<readonly SettingComplaint[]> {
  if (isPage(inventory)) return [];
  try {
    const reading = await fileSource(inventory).read(new AbortController().signal);
    const keyless = parse(reading?.content ?? '').filter(({ hostKey }) => hostKey === null);
    return policy === 'strict' && keyless.length > 0 ? [keysMissing(keyless)] : [];
  } catch (error) {
    if (!(error instanceof UsageError) && !isProviderError(error)) throw error;
    const message = `is ${inventory}: ${explain(error)}; mend the file`;
    return [{ key: 'inventory', message }];
  }
}

function keysMissing(entries: readonly { readonly id: string }[]): SettingComplaint {
  const names = entries.slice(0, NAMES_SHOWN).map(({ id }) => id);
  const more = entries.length > names.length ? ` and ${entries.length - names.length} more` : '';
  return {
    key: 'inventory',
    message:
      `names no HostKey for ${names.join(', ')}${more}, and hostKeyPolicy is strict: no agent is ` +
      'started there, unless a key was pinned before; give their entries a HostKey',
    isWarning: true,
  };
}
