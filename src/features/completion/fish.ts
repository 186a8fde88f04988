import { operandsOf, type Words } from './command-words.js';

/** A script for fish, to be stored among its completions. */
export function fishScript({ commands, forms, subcommands }: Words): string {
  const summaries = [...commands].map(
    ([name, { summary }]) =>
      `complete -c plinth -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}\n`,
  );
  const verbs = subcommands.map(
    ([command, verbs]) =>
      `complete -c plinth -f -n '__fish_seen_subcommand_from ${command}; and not __fish_seen_subcommand_from ${verbs.join(' ')}' -a '${verbs.join(' ')}'\n`,
  );
  return `# Completes the commands of plinth in fish: plinth completion fish > ~/.config/fish/completions/plinth.fish
complete -c plinth -l help -d 'describe the command'
complete -c plinth -f -n __fish_use_subcommand -l version -d 'print the version'
${summaries.join('')}${verbs.join('')}${forms.map(formLines).join('')}`;
}

function formLines({ command, verb, form }: Words['forms'][number]): string {
  const seen = `__fish_seen_subcommand_from ${command}`;
  const condition = verb === '' ? seen : `${seen}; and __fish_seen_subcommand_from ${verb}`;
  const begin = `complete -c plinth -n '${condition}'`;
  const operands = operandsOf(form);
  const options = Object.entries(form.options).map(([name, { text, value, values, isFile, short }]) => {
    const argument = values ? ` -x -a '${values.join(' ')}'` : isFile ? ' -r -F' : value ? ' -x' : '';
    const letter = short === undefined ? '' : ` -s ${short}`;
    return `${begin} -l ${name}${letter}${argument} -d ${quoted(text.split('\n', 1)[0]!)}\n`;
  });
  return [
    ...(form.completes === 'file' ? [] : [`${begin} -f\n`]),
    ...(operands.length > 0 ? [`${begin} -a '${operands.join(' ')}'\n`] : []),
    ...options,
  ].join('');
}

/** In single quotes. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
