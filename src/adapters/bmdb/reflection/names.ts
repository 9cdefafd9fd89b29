/** Words that are spelled in capitals. */
const ACRONYMS: ReadonlySet<string> = new Set(['os']);

/** What a tag is called: `machine_os_installation_report` is `OSInstallationReport`. */
export const tagName = (table: string): string =>
  table
    .replace(/^machine_/, '')
    .split('_')
    .map((word) => (ACRONYMS.has(word) ? word.toUpperCase() : capitalised(word)))
    .join('');

const capitalised = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);
