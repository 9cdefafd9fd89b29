const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/(\w:\/\/[^\s/:@"]*:)[^\s/@"]+@/g, '$1[secret]@'],
  // A token may stand where a name belongs: `https://TOKEN@host`.
  [/(\bhttps?:\/\/)[^\s/:@"]+@/g, '$1[secret]@'],
  [
    /((?:[?&]|^|\s)[\w.-]{0,64}(?:token|password|secret|signature|credential|key|sig)=)[^\s&#"]+/gi,
    '$1[secret]',
  ],
  [/\b(Bearer|Basic) +[\w.~+/=-]+/gi, '$1 [secret]'],
  [/\bshp_[0-9a-z]{10}_[\w-]{43}/g, '[secret]'],
  // Also one whose end was cut off.
  [
    /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----)[^])*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
    '[secret]',
  ],
];

/** The same text without secrets that are recognised by their form. Redact before cutting. */
export const withoutSecrets = (text: string): string =>
  SECRETS.reduce((left, [pattern, by]) => left.replaceAll(pattern, by), text);
