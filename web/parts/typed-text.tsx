import { useEffect, useState, type InputHTMLAttributes } from 'react';

/** Who types is asked for no more often. */
const TYPED_MS = 120;

export interface TypedTextProps extends Omit<
  InputHTMLAttributes<HTMLInputElement>,
  'value' | 'onChange'
> {
  readonly text: string;
  readonly set: (text: string) => void;
}

/** What is typed counts a moment later; what comes from elsewhere, such as a link, at once. */
export function TypedText({ text: told, set, ...input }: TypedTextProps) {
  const [text, setText] = useState(told);
  const [known, setKnown] = useState(told);
  if (known !== told) {
    setKnown(told);
    if (text.trim() !== told) setText(told);
  }
  useEffect(() => {
    if (text.trim() === told) return undefined;
    const timer = setTimeout(() => set(text.trim()), TYPED_MS);
    return () => clearTimeout(timer);
  });
  return (
    <input
      type="search"
      value={text}
      onChange={({ target }) => setText(target.value)}
      autoComplete="off"
      spellCheck={false}
      maxLength={200}
      {...input}
    />
  );
}
