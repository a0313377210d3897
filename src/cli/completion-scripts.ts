/**
 * Scripts that connect shells with the completion of `wherry`. They run the command at the beginning of the line and
 * read its `completionText`: one line per word, with a tab and its meaning, then `:plain`, `:nospace`, `:files` or
 * `:folders`.
 */
import type { Shell } from '../cluster/options/commands.ts';
import { completionQuestion } from './options.ts';

/** Also runs in bash 3.2, which macOS has. */
const bash = `# Completion of wherry in bash: source <(wherry completion bash)
_wherry() {
  local words=() piece glued= tail full cut line reply
  local -i i
  # Bash takes --flag=value and http://host for several words: put them together again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    piece=\${COMP_WORDS[i]}
    if [[ \${#words[@]} -gt 0 && ( -n $glued || $piece == [=:]* ) ]]; then
      words[\${#words[@]}-1]+=$piece
      if [[ $piece == *[=:] ]]; then glued=1; else glued=; fi
    else
      words+=("$piece")
      glued=
    fi
  done
  tail=\${COMP_WORDS[COMP_CWORD]}
  if [[ $tail == [=:]* ]]; then tail=; fi
  full=\${words[\${#words[@]}-1]}
  # What bash does not replace.
  cut=\${full%"$tail"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :plain) ;;
      :nospace) compopt -o nospace 2>/dev/null ;;
      :files | :folders)
        compopt -o filenames 2>/dev/null
        local kind=-f
        if [[ $line == :folders ]]; then kind=-d; fi
        while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen "$kind" -- "$tail")
        ;;
      *)
        reply=\${line%%$'\\t'*}
        COMPREPLY+=("\${reply#"$cut"}")
        ;;
    esac
  done < <("\${COMP_WORDS[0]/#\\~\\//$HOME/}" ${completionQuestion} "\${words[@]}" 2>/dev/null)
}
complete -F _wherry wherry
`;

const zsh = `#compdef wherry
# Completion of wherry in zsh: source <(wherry completion zsh) behind compinit, or this as the file _wherry in $fpath
_wherry() {
  local -a lines found
  local line shell word
  lines=("\${(@f)$(\${(Q)words[1]/#\\~\\//$HOME/} ${completionQuestion} "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  shell=\${lines[-1]}
  for line in "\${(@)lines[1,-2]}"; do
    word=\${\${line%%$'\\t'*}//:/\\\\:}
    found+=("$word:\${line#*$'\\t'}")
  done
  case $shell in
    :files)
      compset -P '--*='
      _files
      ;;
    :folders)
      compset -P '--*='
      _files -/
      ;;
    :nospace) _describe wherry found -S '' ;;
    *) _describe wherry found ;;
  esac
}
if [[ \${funcstack[1]} == _wherry ]]; then
  _wherry "$@"
else
  compdef _wherry wherry
fi
`;

const fish = `# Completion of wherry in fish: wherry completion fish > ~/.config/fish/completions/wherry.fish
function __wherry_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set -l lines ($program ${completionQuestion} $words "$typed" 2>/dev/null)
    set -l shell $lines[-1]
    set -e lines[-1]
    switch "$shell"
        case :files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$typed")
        case :folders
            __fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$typed")
    end
    for line in $lines
        echo $line
    end
end
complete -c wherry -f -a '(__wherry_complete)'
`;

/** For PowerShell, whose old versions cannot pass an empty word to a program. */
const powershell = `# Completion of wherry in PowerShell: wherry completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName wherry -ScriptBlock {
    param($typed, $line, $position)
    $words = @($line.CommandElements | Where-Object { $_.Extent.StartOffset -lt $position } | ForEach-Object { $_.ToString() })
    $program = $words[0]
    $words = @($words | Select-Object -Skip 1)
    if ($typed -eq '') { $words += '--empty-word' }
    $lines = @(& $program ${completionQuestion} @words 2>$null)
    $shell = $lines | Select-Object -Last 1
    if ($shell -eq ':files' -or $shell -eq ':folders') {
        return [System.Management.Automation.CompletionCompleters]::CompleteFilename($typed)
    }
    $lines | Select-Object -SkipLast 1 | ForEach-Object {
        $word, $says = $_ -split "\`t", 2
        if (-not $says) { $says = $word }
        [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $says)
    }
}
`;

const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish, powershell };

export const completionScript = (shell: Shell): string => scripts[shell];
