import { useEffect, useState, type InputHTMLAttributes } from 'react';

/** Delay between the last key and the search. */
const TYPED_MS = 120;

export interface TypedTextProps extends Omit<
  InputHTMLAttributes<HTMLInputElement>,
  'value' | 'onChange'
> {
  readonly text: string;
  readonly set: (text: string) => void;
}

/** A text field. Typed text takes effect after a short delay; text from elsewhere, such as a link, at once. */
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
